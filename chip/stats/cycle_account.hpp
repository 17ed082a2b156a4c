// The account of every core's cycles (C23): by class (purpose), part (place inside the machine) and task
// function. Cycles of a speculative attempt wait with the attempt until it commits or aborts.
//
// Invariant, checked by verify(): for each core, the sum over all classes and parts == cycles simulated in
// detail.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "base/check.hpp"
#include "chip/stats/registry.hpp"
#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// The activity of a core in a cycle. Threads outside tasks know nonspeculative and idle only.
enum class CycleClass : std::uint8_t { nonspeculative, committed, aborted, spill, stall, idle };
inline constexpr unsigned kCycleClasses = 6;
constexpr std::string_view name_of(CycleClass c) {
  constexpr std::string_view names[] = {"nonspeculative", "committed", "aborted", "spill", "stall", "idle"};
  return names[static_cast<unsigned>(c)];
}

/// The part of the machine that a cycle went to; `core` is everything that is no memory access: issue,
/// dependences, task instructions.
enum class CyclePart : std::uint8_t { core, l1, l2, llc, memory, network, check };
inline constexpr unsigned kCycleParts = 7;
constexpr std::string_view name_of(CyclePart p) {
  constexpr std::string_view names[] = {"core", "l1", "l2", "llc", "memory", "network", "check"};
  return names[static_cast<unsigned>(p)];
}

/// Cycles by class and part.
struct CycleTable {
  std::array<std::array<std::uint64_t, kCycleParts>, kCycleClasses> cells{};
  std::uint64_t& at(CycleClass c, CyclePart p) {
    return cells[static_cast<unsigned>(c)][static_cast<unsigned>(p)];
  }
  std::uint64_t at(CycleClass c, CyclePart p) const {
    return cells[static_cast<unsigned>(c)][static_cast<unsigned>(p)];
  }
  std::uint64_t of_class(CycleClass c) const;
  std::uint64_t sum() const;
  bool operator==(const CycleTable&) const = default;
};

/// Cycles of one speculative attempt, kept with the task until its fate is known.
struct AttemptCycles {
  CoreId core{};
  Addr function = 0;
  std::array<std::uint64_t, kCycleParts> parts{};
  void charge(CyclePart part, Latency cycles) { parts[static_cast<unsigned>(part)] += cycles; }
};

class CycleAccount {
 public:
  explicit CycleAccount(std::uint32_t cores);
  CycleAccount(const CycleAccount&) = delete;
  CycleAccount& operator=(const CycleAccount&) = delete;

  /// From now on `core` works for the task function at `function`; 0: for no task. May allocate, once a
  /// function.
  void run_function(CoreId core, Addr function) { cores_[core.value].function = &table_of(function); }

  /// Hot: two additions.
  void charge(CoreId core, CycleClass c, CyclePart part, Latency cycles) {
    Core& row = cores_[core.value];
    row.table.at(c, part) += cycles;
    row.function->at(c, part) += cycles;
  }
  /// The cycles of an access, by its parts.
  void charge(CoreId core, CycleClass c, const AccessParts& parts);

  /// The attempt's fate is known: its cycles become those of `fate` (committed or aborted; nonspeculative if
  /// the task became non-speculative in place).
  void settle(const AttemptCycles& attempt, CycleClass fate);

  std::uint32_t cores() const { return static_cast<std::uint32_t>(cores_.size()); }
  const CycleTable& of_core(CoreId core) const { return cores_[core.value].table; }
  CycleTable total() const;
  /// By task function; key 0 is all that no task did. Sums to total().
  const std::map<Addr, CycleTable>& by_function() const { return functions_; }

  /// Checks the invariant above; `cycles` is how many were simulated in detail since construction, and no
  /// speculative attempt may be unsettled. Aborts with core and difference if it does not hold.
  void verify(Latency cycles) const;
  /// The core whose cycles do not add up to `cycles`, or cores() if all do.
  std::uint32_t first_wrong_core(Latency cycles) const;

  /// Registers chip.core_cycles.<class>[.<part>] and core.<i>.cycles.<class>.
  void register_stats(StatRegistry& registry) const;

 private:
  struct Core {
    CycleTable table;
    CycleTable* function = nullptr;
  };
  /// The function's table, new if it has none.
  CycleTable& table_of(Addr function) {
    if (function == 0) return *no_task_;
    if (function != recent_) {
      recent_ = function;
      recent_table_ = &functions_[function];
    }
    return *recent_table_;
  }

  std::vector<Core> cores_;
  CycleTable* no_task_ = nullptr;  // functions_[0]
  Addr recent_ = 0;                // the last task function asked for: mostly the next one too
  CycleTable* recent_table_ = nullptr;
  std::map<Addr, CycleTable> functions_;  // nodes do not move: cores point into them
};

}  // namespace rubato::chip
