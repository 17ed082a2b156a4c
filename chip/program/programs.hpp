// The programs of a chip: one that has it to itself, or several side by side on cores of their own (K80 to
// K82). Each goes to its region of interest in fast-forward, waits there for the others, is in detail until
// its region or the program is over, and goes on in fast-forward when no program is in detail. A program
// alone may come to its region again.
//
// This class keeps the list and the order of these phases. It moves no thread and no clock: its caller does,
// at each change of phase.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "chip/coherence/memory_hierarchy.hpp"
#include "chip/config/config.hpp"
#include "chip/conflict/conflict_scheme.hpp"
#include "chip/program/program.hpp"
#include "chip/program/program_place.hpp"
#include "chip/run.hpp"
#include "chip/stats/registry.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class Programs {
 public:
  using List = std::vector<std::unique_ptr<Program>>;

  /// Loads them, and tells `hierarchy` which tiles are whose. All that is given outlives the programs.
  /// @throws UsageError for a program that cannot be loaded, and for what the configuration cannot do with
  /// it.
  Programs(std::vector<ProgramPlace> places, const Config& config, const ConflictScheme& conflicts,
           MemoryHierarchy& hierarchy, Program::Host& host);

  /// Several, or one that does not have the whole chip: then there are no tasks.
  bool is_shared() const { return is_shared_; }
  /// The only one, if there is one. With several programs it is the first.
  Program& sole() const { return *list_.front(); }
  /// Whether run.contention is on; auto: where it can be.
  bool watches_contention(const Config& config) const;
  /// The program of `core`; of a core that no program has, the first one.
  Program& of(CoreId core) const { return *by_core_[core.value]; }
  std::size_t size() const { return list_.size(); }
  Program& operator[](std::size_t number) const { return *list_[number]; }
  List::const_iterator begin() const { return list_.begin(); }
  List::const_iterator end() const { return list_.end(); }

  // ---- To the regions ----

  /// The program that fast-forward goes on with: in the order of numbers, those behind their regions last.
  Program& next_in_fast_forward() const;
  /// `program` is at its region of interest, which `caller` may just have called.
  void arrive(Program& program, const Thread* caller);
  /// A program waits at its region, and none is on the way to its own.
  bool is_detail_due() const;
  /// The waiting programs are in detail from now on. @returns them.
  std::vector<Program*> begin_detail();

  // ---- Out of them ----

  /// The cores of `program` have left it; they had come to `left`. @returns true if no other is in detail.
  bool leave_detail(Program& program, Cycle left);

  enum class AfterEnd : std::uint8_t {
    run_ends,       ///< worst_outcome() is the run's
    cores_leave,    ///< its cores are in the middle of something: leave_detail() is due
    others_follow,  ///< detail may be due
    nothing,        ///< it had ended before
  };
  /// `program`, one of several, has ended so.
  AfterEnd finish(Program& program, RunOutcome outcome);
  bool are_all_over() const;
  /// The worst outcome of any (K82).
  RunOutcome worst_outcome() const;

  // ---- What counts (K82) ----

  using InstructionsOf = std::function<std::uint64_t(const Program&)>;
  /// The program's cycles and instructions so far are its result, and its use of caches and memory so far.
  /// Only the first call has an effect.
  void count(Program& program, Cycle now, std::uint64_t executed);
  /// Counts programs in detail that have executed run.instructions. @returns true if all in detail have.
  bool count_those_done(std::uint64_t instructions, Cycle now, const InstructionsOf& executed);
  std::uint64_t fast_forward_instructions() const;
  std::uint64_t mapped_bytes() const;
  /// Registers statistics of the disk. With several programs each has a disk of its own, and program.P.cycles
  /// and program.P.instructions, P from 1.
  void register_stats(StatRegistry& registry) const;

  // ---- Waiting ----

  /// A thread in detail waits for a time.
  bool awaits_time() const;
  /// A line for each blocked thread, by program if there are several.
  std::string describe_waiting() const;

 private:
  void check(const Config& config, const MemoryHierarchy& hierarchy) const;

  List list_;
  MemoryHierarchy& hierarchy_;
  std::vector<Program*> by_core_;
  bool is_shared_;
};

}  // namespace rubato::chip
