// When a run has ended: all workers are idle, nothing holds it open, no task waits in the inbox, and the
// workers have finished what they created. No counter is shared. R10.
//
// These are looks at several words, one after the other. They describe one moment only if no worker was busy
// meanwhile: it may have taken a task from the inbox before the look there, and have opened a hold in that
// task after the look at holds. So the looks lie between two at `idle_ends`, how often a worker has stopped
// to be idle. A worker counts that before it takes anything, and is idle again only after all it did:
//
//   the worker that ends the run                  another worker that is woken
//   reads idle_ends                               is idle no more
//   are all idle? is it held open? the inbox?     idle_ends + 1
//   the sums                                      takes a task, runs it: a hold, other tasks
//   are all idle? reads idle_ends again           is idle
//
// If all are idle at the last look but one, the other worker has either counted before, or not begun.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace rubato::inline v0::native {

/// Over all workers. `finished` is summed first, by loads that acquire what was released with it: what was
/// finished had been created.
struct Sums {
  std::uint64_t created = 0;
  std::uint64_t finished = 0;
  bool operator==(const Sums&) const = default;
};

enum class RunEnd : std::uint8_t {
  none,      ///< the run goes on, or another worker that goes on will ask again
  finished,  ///< for good
  blocked,   ///< the same, but tasks wait that nothing lets go
};

/// The rules of a correct end. Tests derive from it to build mutants, which they must catch.
struct RunEndRules {
  static constexpr bool kLooksForHolds = true;
  static constexpr bool kLooksIntoInbox = true;
  static constexpr bool kComparesSums = true;
  static constexpr bool kLooksForOthersAfterwards = true;
  static constexpr bool kCountsIdleEnds = true;
  static constexpr bool kTellsRunsApart = true;
};

/// By a worker that is idle. `looks`: all of them ordered by seq_cst.
///   are_all_idle(), is_held_open(), has_inbox()
///   idle_ends()   of all workers; a sum
///   sums()
///   has_work()    that a worker can find
template <class Rules = RunEndRules, class Looks>
RunEnd end_of_run(Looks&& looks) {
  const std::uint64_t before = Rules::kCountsIdleEnds ? looks.idle_ends() : 0;
  if (!looks.are_all_idle()) return RunEnd::none;
  // In this order: what another thread created before it closed its hold is in the inbox.
  if (Rules::kLooksForHolds && looks.is_held_open()) return RunEnd::none;
  if (Rules::kLooksIntoInbox && looks.has_inbox()) return RunEnd::none;
  const Sums sums = looks.sums();
  const bool is_finished = !Rules::kComparesSums || sums.created == sums.finished;
  // If no worker can find the tasks that are left, they wait for groups that no task can complete.
  if (!is_finished && looks.has_work()) return RunEnd::none;
  if constexpr (Rules::kLooksForOthersAfterwards) {
    if (!looks.are_all_idle()) return RunEnd::none;
    if (Rules::kCountsIdleEnds && looks.idle_ends() != before) return RunEnd::none;
  }
  return is_finished ? RunEnd::finished : RunEnd::blocked;
}

/// The numbers of the runs whose end workers found by end_of_run(). All that find an end count as idle, so
/// while one of them is late to say so, another may have ended the run, and the next may have begun: that
/// must go on. Worker 0 looks at this, and again each time it is woken, so it misses no end if a late worker
/// writes last.
template <class Atomics, class Rules = RunEndRules>
class EndFound {
 public:
  /// Before note_over(): the tasks that are left wait for groups that cannot complete.
  void note_blocked(std::uint64_t run) { blocked_.store(run, std::memory_order_seq_cst); }
  /// @returns whether worker 0 is to be woken: no other worker has said so
  bool note_over(std::uint64_t run) { return over_.exchange(run, std::memory_order_seq_cst) != run; }
  bool is_over(std::uint64_t run) const {
    const std::uint64_t over = over_.load(std::memory_order_seq_cst);
    return Rules::kTellsRunsApart ? over == run : over != 0;
  }
  bool is_blocked(std::uint64_t run) const {
    const std::uint64_t blocked = blocked_.load(std::memory_order_seq_cst);
    return Rules::kTellsRunsApart ? blocked == run : blocked != 0;
  }

 private:
  typename Atomics::template atomic<std::uint64_t> over_{0}, blocked_{0};
};

}  // namespace rubato::inline v0::native
