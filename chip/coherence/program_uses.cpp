// SPDX-License-Identifier: MIT
#include "chip/coherence/program_uses.hpp"

#include <fmt/format.h>

#include "chip/stats/registry.hpp"

namespace rubato::chip {

void ProgramUses::count_one(LineAddr line, std::uint64_t ProgramUse::*counter) {
  ProgramUse& use = of(line);
  if (!use.is_over) warming_.count(use.*counter);
}

void ProgramUses::count_victim(LineAddr victim, LineAddr line) {
  count_one(victim, &ProgramUse::llc_evictions);
  if (program_of(victim) != program_of(line)) count_one(victim, &ProgramUse::llc_displaced);
}

void ProgramUses::register_stats(StatRegistry& registry) const {
  for (std::size_t program = 0; program < uses_.size(); ++program) {
    const ProgramUse& use = uses_[program];
    const auto counter = [&](const char* name, const char* unit, const char* description,
                             const std::uint64_t* value) {
      registry.counter(fmt::format("program.{}.{}", program + 1, name), unit, description, value);
    };
    counter("l2.misses", "accesses", "L1 misses of a program (from 1) whose line its tile's L2 did not hold",
            &use.l2_misses);
    counter("llc.hits", "accesses", "requests of a program's lines that a slice held", &use.llc_hits);
    counter("llc.misses", "accesses", "requests of a program's lines that no slice held", &use.llc_misses);
    counter("llc.evictions", "lines", "lines of a program that left the LLC to make room",
            &use.llc_evictions);
    counter("llc.displaced", "lines",
            "lines of a program that left the LLC to make room for a line of another one",
            &use.llc_displaced);
    counter("mem.reads", "lines", "lines of a program that were read from memory", &use.memory_reads);
    counter("mem.writes", "lines", "lines of a program that were written to memory", &use.memory_writes);
    registry.value(fmt::format("program.{}.llc.lines", program + 1), "lines",
                   "lines of a program in the LLC, also those that warming brought",
                   [&use] { return static_cast<double>(use.llc_lines); });
  }
}

}  // namespace rubato::chip
