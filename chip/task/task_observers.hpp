// Several observers of tasks as one. Calls them in the order in which they were added.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "chip/speculation/task_observer.hpp"

namespace rubato::chip {

class TaskObservers final : public TaskObserver {
 public:
  /// Outlives its use.
  void add(TaskObserver& observer) { observers_.push_back(&observer); }

  void on_created(std::uint64_t id, std::uint64_t parent, const TaskDescriptor& task, CoreId core,
                  Cycle now) override {
    for (auto* o : observers_) o->on_created(id, parent, task, core, now);
  }
  void on_handler_queued(std::uint64_t id, CoreId core, Cycle now) override {
    for (auto* o : observers_) o->on_handler_queued(id, core, now);
  }
  void on_enqueued(std::uint64_t id, TileId tile, Cycle now) override {
    for (auto* o : observers_) o->on_enqueued(id, tile, now);
  }
  void on_dispatched(CoreId core, const DispatchedTask& task, Cycle now) override {
    for (auto* o : observers_) o->on_dispatched(core, task, now);
  }
  void on_suspended(std::uint64_t id, CoreId core, Cycle now) override {
    for (auto* o : observers_) o->on_suspended(id, core, now);
  }
  void on_resumed(CoreId core, const DispatchedTask& task, Cycle now) override {
    for (auto* o : observers_) o->on_resumed(core, task, now);
  }
  void on_doomed_suspended(CoreId core, Cycle now) override {
    for (auto* o : observers_) o->on_doomed_suspended(core, now);
  }
  void on_doomed_resumed(CoreId core, const DispatchedTask& task, Cycle now) override {
    for (auto* o : observers_) o->on_doomed_resumed(core, task, now);
  }
  void on_finished(std::uint64_t id, CoreId core, Cycle now) override {
    for (auto* o : observers_) o->on_finished(id, core, now);
  }
  void on_committed(std::uint64_t id, CoreId core, Cycle now, bool waits) override {
    for (auto* o : observers_) o->on_committed(id, core, now, waits);
  }
  void on_aborted(std::uint64_t id, CoreId core, const AbortReason& reason, bool discarded,
                  Cycle now) override {
    for (auto* o : observers_) o->on_aborted(id, core, reason, discarded, now);
  }
  void on_capsule(CoreId core, Addr stub, Cycle from, Cycle to, bool doomed) override {
    for (auto* o : observers_) o->on_capsule(core, stub, from, to, doomed);
  }
  void on_doomed_ended(CoreId core, Cycle now) override {
    for (auto* o : observers_) o->on_doomed_ended(core, now);
  }
  void on_discarded(std::uint64_t id, Cycle now) override {
    for (auto* o : observers_) o->on_discarded(id, now);
  }
  void on_internal_finished(CoreId core, DispatchedTask::Kind kind, Cycle now) override {
    for (auto* o : observers_) o->on_internal_finished(core, kind, now);
  }
  void on_spilled(std::uint64_t id, TileId tile, Cycle now) override {
    for (auto* o : observers_) o->on_spilled(id, tile, now);
  }
  void on_refilled(std::uint64_t id, TileId tile, Cycle now) override {
    for (auto* o : observers_) o->on_refilled(id, tile, now);
  }
  void on_gvt(VirtualTime gvt, Cycle now) override {
    for (auto* o : observers_) o->on_gvt(gvt, now);
  }

 private:
  std::vector<TaskObserver*> observers_;
};

}  // namespace rubato::chip
