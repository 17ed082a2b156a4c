// Occupants of cores: the task or thread that each core executes for. Observers of instructions name it
// beside them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chip/speculation/task_observer.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class CoreOccupants final : public TaskObserver {
 public:
  explicit CoreOccupants(std::uint32_t cores) : cores_(cores) {}

  void on_thread(CoreId core, std::uint32_t id) { cores_[core.value] = {.thread = id}; }
  void on_dispatched(CoreId core, const DispatchedTask& task, Cycle) override { begin(core, task); }
  void on_resumed(CoreId core, const DispatchedTask& task, Cycle) override { begin(core, task); }
  void on_doomed_resumed(CoreId core, const DispatchedTask& task, Cycle) override { begin(core, task); }
  void on_suspended(std::uint64_t, CoreId core, Cycle) override { cores_[core.value].task = 0; }
  void on_doomed_suspended(CoreId core, Cycle) override { cores_[core.value].task = 0; }
  void on_finished(std::uint64_t, CoreId core, Cycle) override { cores_[core.value].task = 0; }

  /// "task 17", "thread 2", or "-" on a core that has had neither.
  std::string name(CoreId core) const;

 private:
  struct Occupant {
    std::uint64_t task = 0;    // 0: none
    std::uint32_t thread = 0;  // the last one, which goes on when a region ends
  };
  void begin(CoreId core, const DispatchedTask& task) {
    if (task.kind == DispatchedTask::Kind::guest || task.kind == DispatchedTask::Kind::resumed)
      cores_[core.value].task = task.id;
  }

  std::vector<Occupant> cores_;
};

}  // namespace rubato::chip
