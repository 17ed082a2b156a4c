// SPDX-License-Identifier: MIT
#include "chip/stats/cycle_account.hpp"

#include <fmt/format.h>

#include <numeric>
#include <string>

namespace rubato::chip {
namespace {

constexpr std::string_view kClassDescriptions[] = {
    "core cycles of non-speculative tasks and of threads",
    "core cycles of speculative attempts that committed",
    "core cycles of speculative attempts that aborted",
    "core cycles of spill and refill tasks",
    "core cycles stalled on a full queue",
    "core cycles with nothing to run",
};

}  // namespace

std::uint64_t CycleTable::of_class(CycleClass c) const {
  const auto& row = cells[static_cast<unsigned>(c)];
  return std::accumulate(row.begin(), row.end(), std::uint64_t{0});
}

std::uint64_t CycleTable::sum() const {
  std::uint64_t total = 0;
  for (unsigned c = 0; c < kCycleClasses; ++c) total += of_class(static_cast<CycleClass>(c));
  return total;
}

CycleAccount::CycleAccount(std::uint32_t cores) : cores_(cores) {
  no_task_ = &functions_[0];
  for (Core& core : cores_) core.function = no_task_;
}

void CycleAccount::charge(CoreId core, CycleClass c, const AccessParts& parts) {
  charge(core, c, CyclePart::l1, parts.l1);
  charge(core, c, CyclePart::l2, parts.l2);
  charge(core, c, CyclePart::llc, parts.llc);
  charge(core, c, CyclePart::memory, parts.memory);
  charge(core, c, CyclePart::network, parts.network);
  charge(core, c, CyclePart::check, parts.check);
}

void CycleAccount::settle(const AttemptCycles& attempt, CycleClass fate) {
  CycleTable& core = cores_[attempt.core.value].table;
  CycleTable& function = table_of(attempt.function);
  for (unsigned p = 0; p < kCycleParts; ++p) {
    core.at(fate, static_cast<CyclePart>(p)) += attempt.parts[p];
    function.at(fate, static_cast<CyclePart>(p)) += attempt.parts[p];
  }
}

CycleTable CycleAccount::total() const {
  CycleTable sum;
  for (const Core& core : cores_) {
    for (unsigned c = 0; c < kCycleClasses; ++c) {
      for (unsigned p = 0; p < kCycleParts; ++p) sum.cells[c][p] += core.table.cells[c][p];
    }
  }
  return sum;
}

std::uint32_t CycleAccount::first_wrong_core(Latency cycles) const {
  std::uint32_t core = 0;
  while (core < cores() && cores_[core].table.sum() == cycles) ++core;
  return core;
}

void CycleAccount::verify(Latency cycles) const {
  const std::uint32_t wrong = first_wrong_core(cycles);
  if (wrong == cores()) return;
  const std::string message =
      fmt::format("core {} accounts for {} cycles of {}", wrong, cores_[wrong].table.sum(), cycles);
  check_failed(__FILE__, __LINE__, "core cycles add up (C23)", message);
}

void CycleAccount::register_stats(StatRegistry& registry) const {
  for (unsigned c = 0; c < kCycleClasses; ++c) {
    const auto cycle_class = static_cast<CycleClass>(c);
    const std::string name = fmt::format("chip.core_cycles.{}", name_of(cycle_class));
    const std::string what{kClassDescriptions[c]};
    registry.total(name, "cycles", what, [this, cycle_class] {
      std::uint64_t sum = 0;
      for (const Core& core : cores_) sum += core.table.of_class(cycle_class);
      return sum;
    });
    for (unsigned p = 0; p < kCycleParts; ++p) {
      const auto part = static_cast<CyclePart>(p);
      registry.total(fmt::format("{}.{}", name, name_of(part)), "cycles",
                     fmt::format("{}: {}", what, name_of(part)), [this, cycle_class, part] {
                       std::uint64_t sum = 0;
                       for (const Core& core : cores_) sum += core.table.at(cycle_class, part);
                       return sum;
                     });
    }
    for (std::uint32_t i = 0; i < cores(); ++i) {
      registry.total(fmt::format("core.{}.cycles.{}", i, name_of(cycle_class)), "cycles", what,
                     [this, i, cycle_class] { return cores_[i].table.of_class(cycle_class); });
    }
  }
}

}  // namespace rubato::chip
