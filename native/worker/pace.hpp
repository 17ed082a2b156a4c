// A worker's pace: how many tasks run before it refreshes its epoch, looks at the clock and at what others
// wait for. R7 and R10. Says when; what is done then is the worker's.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "native/clock.hpp"
#include "native/policy.hpp"

namespace rubato::inline v0::native {

class Pace {
 public:
  /// A batch of tasks, between two looks at the clock.
  struct Batch {
    unsigned tasks;
    std::uint64_t took;
    /// The tasks took so long on average that the next are timed one by one (R11).
    bool is_worth_timing;
    bool is_full() const { return tasks == policy::kRefreshBatch; }
  };

  /// `refreshes_every_time`: the epoch is refreshed before every task, and not once a batch.
  explicit Pace(bool refreshes_every_time)
      : until_refresh_(refreshes_every_time ? 1 : policy::kRefreshBatch),
        refreshes_every_time_(refreshes_every_time) {}

  /// A task is about to run. @returns whether the epoch is to be refreshed before.
  bool is_refresh_due() { return --until_refresh_ == 0; }
  /// When it has been refreshed. @returns whether a batch is over, too: end_batch() follows.
  bool begin_next() {
    if (!refreshes_every_time_) return true;
    until_refresh_ = 1;
    return --until_look_ == 0;
  }
  /// The worker runs no tasks from `now` on, until go_on(): that time is no part of the batch.
  void stop(std::uint64_t now) { stopped_ = now; }
  void go_on(std::uint64_t now) {
    begin_ = std::min(begin_ + (now - stopped_), now);
    stopped_ = now;
  }
  /// The next batch is as long as policy::kBatchMicroseconds allow, at most twice as long as this one: others
  /// wait for what is done once a batch, and one short task says little of those that follow.
  Batch end_batch(std::uint64_t now) {
    const std::uint64_t took = now - begin_;
    begin_ = now;
    const Batch batch{tasks_, took, took > ticks_of(tasks_ * policy::kTimedMicroseconds)};
    are_tasks_long_ = took > ticks_of(tasks_);
    const std::uint64_t in_time = ticks_of(policy::kBatchMicroseconds) * tasks_;
    tasks_ = std::min(2 * tasks_, policy::kRefreshBatch);
    if (took * tasks_ > in_time) tasks_ = std::max(static_cast<unsigned>(in_time / took), 1u);
    (refreshes_every_time_ ? until_look_ : until_refresh_) = tasks_;
    return batch;
  }
  /// At the end of a batch: whether a busy worker does now what else only an idle one does.
  bool is_rest_due() {
    if (!are_tasks_long_ && --batches_before_rest_ != 0) return false;
    batches_before_rest_ = policy::kBatchesBeforeRest;
    return true;
  }

  /// Over a microsecond, on average of the last batch. Unknown: they may be.
  bool are_tasks_long() const { return are_tasks_long_; }
  void expect_long_tasks() { are_tasks_long_ = true; }

 private:
  unsigned tasks_ = policy::kRefreshBatch;       // a batch
  unsigned until_refresh_;                       // tasks
  unsigned until_look_ = policy::kRefreshBatch;  // tasks, if the epoch is refreshed before each
  unsigned batches_before_rest_ = 1;
  const bool refreshes_every_time_;
  bool are_tasks_long_ = true;
  std::uint64_t begin_ = 0;    // of the batch
  std::uint64_t stopped_ = 0;  // or went on, the last time
};

}  // namespace rubato::inline v0::native
