// Which engine runs the tasks of this program. Decided by the compilation target, never by the source:
//   RISC-V             the simulated chip (engine/chip.hpp)
//   any other target   the serial reference engine (engine/serial.hpp), link rubato_serial
// SPDX-License-Identifier: MIT
#pragma once

#if defined(RUBATO_ENGINE_NATIVE)
#error \
    "RUBATO_ENGINE_NATIVE is set, but this version of Rubato has no native engine yet: leave it undefined to use the serial engine"
#elif defined(__riscv)
#define RUBATO_ENGINE_CHIP 1
#else
#define RUBATO_ENGINE_SERIAL 1
#endif
