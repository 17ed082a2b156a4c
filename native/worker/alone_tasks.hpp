// Tasks that run with nothing beside them: `spec` ones. Workers take turns; the others stand by. R9.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "native/policy.hpp"
#include "native/pool/task_list.hpp"

namespace rubato::inline v0::native {

class Shared;
class Worker;

class AloneTasks {
 public:
  explicit AloneTasks(Worker& worker);

  bool is_empty() const { return tasks_.is_empty(); }
  void append(Task* task) { tasks_.append(task); }
  Task* take() { return tasks_.take(); }
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
  TaskList tasks_;
  unsigned refills_ = 0;               // of the ring since they ran, while a task waits
  std::optional<std::uint32_t> turn_;  // asked for and not had yet
};

}  // namespace rubato::inline v0::native
