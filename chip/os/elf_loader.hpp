// Loads a RISC-V Linux executable into guest memory (C1), and the dynamic loader that it may name.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "chip/memory/address_space.hpp"
#include "chip/os/lock_marks.hpp"
#include "chip/os/symbols.hpp"

namespace rubato::chip {

struct LoadedProgram {
  Addr entry = 0;
  Addr start = 0;           ///< the first instruction: `entry`, or the dynamic loader's
  std::string interpreter;  ///< path of the dynamic loader in the guest's view; empty: the program is static
  Addr interpreter_base = 0;
  Addr program_headers = 0;  ///< guest address of the program headers (AT_PHDR), 0 if not mapped
  std::uint16_t program_header_count = 0;
  Addr end = 0;  ///< first page behind the image: where brk starts
  Symbols symbols;
  LockMarks lock_marks;
  std::optional<std::uint64_t>
      errno_offset;  ///< bytes from the thread pointer to errno, if the program has it
};

struct ElfLimits {
  /// Images lie in [kLowest, highest()): page 0 stays unmapped, mappings and stacks lie above.
  static constexpr Addr kLowest = AddressSpace::kPageBytes;
  static constexpr Addr kPositionIndependentBase = Addr{1} << 20;
  static Addr highest(const AddressSpace& memory) { return memory.size() / 4; }
};

/// Maps the segments of the file `path` and reads its symbols.
/// @throws UsageError with one sentence for a missing or unreadable file, a directory, and everything that is
/// not a 64-bit little-endian RISC-V executable, saying what it is instead.
LoadedProgram load_elf(const std::string& path, AddressSpace& memory);

/// Maps the dynamic loader of `program`, the file `path`, where mappings begin: `program` starts there.
/// @throws UsageError likewise.
void load_interpreter(const std::string& path, AddressSpace& memory, LoadedProgram& program);

}  // namespace rubato::chip
