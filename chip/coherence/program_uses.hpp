// Use of L2s, LLC and memory by each of several programs on the chip: counters by the program whose line it
// is (K81). Invariant: while all programs count, their sums are those of tiles and controllers. A chip with
// one program has none of these counters, and each call costs one test.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.hpp"
#include "chip/coherence/warming.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class StatRegistry;

struct ProgramUse {
  std::uint64_t l2_misses = 0, llc_hits = 0, llc_misses = 0, memory_reads = 0, memory_writes = 0;
  std::uint64_t llc_evictions = 0;  ///< lines that left the LLC to make room
  std::uint64_t llc_displaced = 0;  ///< of them, those that made room for another program's line
  std::uint64_t llc_lines = 0;      ///< in the LLC now, also those that warming brought
  bool is_over = false;             ///< counts no longer
};

class ProgramUses {
 public:
  explicit ProgramUses(const Warming& warming) : warming_(warming) {}

  /// Before any access: the chip has this program, numbered from 0.
  void add(std::uint32_t program) {
    if (program != 0 && uses_.size() <= program) uses_.resize(std::size_t{program} + 1);
  }
  /// The program's own end (K82): its later accesses do not count.
  void end(std::uint32_t program) {
    if (!uses_.empty()) uses_[program].is_over = true;
  }

  void count(LineAddr line, std::uint64_t ProgramUse::*counter) {
    if (!uses_.empty()) [[unlikely]]
      count_one(line, counter);
  }
  /// The line has got a place in the LLC, or has left it.
  void enter_llc(LineAddr line) {
    if (!uses_.empty()) [[unlikely]]
      ++of(line).llc_lines;
  }
  void leave_llc(LineAddr line) {
    if (!uses_.empty()) [[unlikely]]
      --of(line).llc_lines;
  }
  /// The victim makes room in the LLC for the line. Its leave_llc() is told besides.
  void displace(LineAddr victim, LineAddr line) {
    if (!uses_.empty()) [[unlikely]]
      count_victim(victim, line);
  }

  /// Registers program.P.l2.*, program.P.llc.* and program.P.mem.*, P from 1; nothing for one program.
  void register_stats(StatRegistry& registry) const;

 private:
  static std::size_t program_of(LineAddr line) { return line.value >> kOwnLineBits; }
  ProgramUse& of(LineAddr line) {
    RUBATO_DCHECK(program_of(line) < uses_.size(), "a line of a program that the chip has not");
    return uses_[program_of(line)];
  }
  void count_one(LineAddr line, std::uint64_t ProgramUse::*counter);
  void count_victim(LineAddr victim, LineAddr line);

  const Warming& warming_;
  std::vector<ProgramUse> uses_;  // by program; empty: there is one
};

}  // namespace rubato::chip
