// Choice of the engine that runs the tasks of this program. The compilation target and the linked library
// decide, never the source:
//   RISC-V                     the simulated chip (engine/chip.hpp)
//   RUBATO_ENGINE_NATIVE set   this machine's cores (engine/native.hpp); linking rubato_native sets it
//   any other target           the serial reference engine (engine/serial.hpp), link rubato_serial
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__riscv)
#if defined(RUBATO_ENGINE_NATIVE)
#error "RUBATO_ENGINE_NATIVE is set, but programs for RISC-V run on the simulated chip: leave it undefined"
#endif
#define RUBATO_ENGINE_CHIP 1
#elif !defined(RUBATO_ENGINE_NATIVE)
#define RUBATO_ENGINE_SERIAL 1
#endif
