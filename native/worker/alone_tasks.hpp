// Tasks that run with nothing beside them: `spec` ones. Workers take turns; the others stand by. R9.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "native/policy.hpp"
#include "native/pool/ready_set.hpp"
#include "native/pool/task_list.hpp"

namespace rubato::inline v0::native {

class Shared;
class Worker;

class AloneTasks {
 public:
  explicit AloneTasks(Worker& worker);

  bool is_empty() const { return size_ == 0; }
  void append(Task* task) {
    lanes_.append(task);
    ++size_;
  }
  /// The oldest one of the highest priority, or of a lower priority after policy::kPassLimit others. There is
  /// one.
  Task* take();
  /// Before the ring is filled: whether they have waited long enough.
  bool is_due();
  /// False: others have their turn before.
  bool run();
  /// Another worker's task wants to run with nothing beside it. Goes on only when standing down itself shows
  /// that no further one has asked meanwhile, and counted on this worker.
  void stand_by();
  /// Between two runs.
  void reset() { turn_.reset(); }

 private:
  bool is_turn() const;
  void run_turn();

  Worker& worker_;
  Shared& shared_;
  Lanes lanes_;
  std::uint64_t size_ = 0;
  std::uint64_t passed_[kPriorities] = {};  // tasks that were taken while one of this rank waited
  unsigned refills_ = 0;                    // of the ring since they ran, while a task waits
  std::optional<std::uint32_t> turn_;       // asked for and not had yet
};

}  // namespace rubato::inline v0::native
