// A tile's state without cores and task units: its queues, core states and what all tiles share, for tests of
// the parts that work on them. Messages and memory take no time that a test looks at.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chip/task/tile_state.hpp"
#include "tests/chip/task/fake_chip.hpp"

namespace rubato::chip::test {

/// Keeps what a tile asks of the chip.
struct FakeHost final : TaskHost {
  std::vector<std::pair<std::uint32_t, Cycle>> woken;
  void wake(CoreId core, Cycle at) override { woken.emplace_back(core.value, at); }
  void end_region(Cycle) override {}
  bool abort_running(CoreId, Cycle) override { return false; }
  std::set<std::uint32_t> in_capsules;  ///< cores
  bool is_in_capsule(CoreId core) const override { return in_capsules.contains(core.value); }
  void become_nonspeculative(CoreId) override {}
  void become_nonspeculative_suspended(std::uint64_t) override {}
  void retire(Attempt&, bool) override {}
  void free_record(LineAddr) override {}
  void no_progress(const std::string&, const std::string&) override {}
  bool awaits_time() const override { return false; }
};

/// Keeps which attempts run.
struct FakeSpeculation final : SpeculationControl {
  std::vector<std::uint32_t> stopped;  ///< cores
  std::vector<const Attempt*> gone_on;
  void begin(Attempt&) override {}
  void stop_running(CoreId core) override { stopped.push_back(core.value); }
  void go_on(Attempt& attempt) override { gone_on.push_back(&attempt); }
  void end(Attempt&) override {}
  void commit(Attempt&) override {}
  void drop_writes(Attempt&) override {}
  void later_accessors(TileId, LineAddr, VirtualTime, std::vector<Attempt*>&) const override {}
  void later_attempts(VirtualTime, std::vector<Attempt*>&) const override {}
};

/// Keeps which attempts are to go; they stay as they are.
struct FakeAborter final : Aborter {
  struct Abort {
    const Attempt* victim;
    AbortCause cause;
    const Task* by;
    bool operator==(const Abort&) const = default;
  };
  std::vector<Abort> aborts;
  std::set<const Attempt*> pending;  ///< fates
  void abort(std::span<Attempt* const> victims, const AbortReason& reason, Cycle) override {
    for (const Attempt* const victim : victims) aborts.push_back({victim, reason.cause, reason.by_task});
  }
  bool is_fate_pending(const Attempt& attempt) const override { return pending.contains(&attempt); }
  bool is_decided(const Attempt&) const override { return false; }
  void wait_for_fate(CoreId) override {}
  VirtualTime gvt_at(TileId) const override { return {}; }
};

struct TileRig : EventHandler {
  /// Two tiles of `cores` cores; the tile under test is the second one. `commit_queue`: entries a core.
  explicit TileRig(std::uint32_t cores, bool speculates = true, std::uint32_t commit_queue = 16)
      : TileRig(config_of(cores, commit_queue), speculates) {}
  explicit TileRig(const Config& c, bool speculates = true) : config(c) {
    if (speculates) {
      context.speculation = &speculation;
      context.aborts = &aborter;
      context.promotion = &promotion;
    }
    context.rule = &rule;
    context.arbiter = &arbiter;
    context.units = {this, this};
    state.begin_region(Cycle{0});
  }
  /// A task as a task unit accepts it, in no queue yet.
  Task& make_task(Make what) {
    Task* const task = context.make_task(make(what), 0);
    task->order = task->descriptor.timestamp;
    task->tile = state.tile;
    return *task;
  }
  /// An idle task in the task queue.
  Task& put(Make what) {
    Task& task = make_task(what);
    state.queue.insert(&task);
    return task;
  }
  /// A task of this timestamp runs on the core of `slot`; with an attempt if it is speculative.
  Task& run(std::uint32_t slot, Timestamp timestamp, bool is_speculative, TaskType type = TaskType::mayspec) {
    return run(slot, {.at = static_cast<std::int64_t>(timestamp), .type = type}, is_speculative);
  }
  /// Precondition: no idle task of its lane comes before it.
  Task& run(std::uint32_t slot, Make what, bool is_speculative) {
    Task* const task = &put(what);
    task->state = TaskState::running;
    task->virtual_time = {task->order, task->id};
    state.queue.dispatch(task, slot, is_speculative);
    if (is_speculative) {
      attempts.push_back(std::make_unique<Attempt>());
      Attempt& attempt = *attempts.back();
      attempt.task = task;
      attempt.virtual_time = task->virtual_time;
      attempt.tile = state.tile;
      attempt.core = state.core_of(slot);
      task->attempt = &attempt;
    }
    state.give_core(slot, task, is_speculative);
    state.states.set(slot, CoreState::running);
    return *task;
  }
  /// An event for the task unit of either tile.
  struct Heard {
    Cycle at;
    TaskEvent event;
    std::uint32_t slot;
    bool operator==(const Heard&) const = default;
  };
  void on_event(Cycle now, std::uint32_t kind, std::uint64_t payload) override {
    heard.push_back({now, static_cast<TaskEvent>(kind), static_cast<std::uint32_t>(payload)});
  }
  /// All events that are scheduled, up to the last.
  std::vector<Heard> hear() {
    while (timeline.step()) {
    }
    return std::exchange(heard, {});
  }

  static Config config_of(std::uint32_t cores, std::uint32_t commit_queue) {
    Config config = small_config(2 * cores, cores);
    config.task.commit_queue = commit_queue;
    return config;
  }

  Config config;
  Timeline timeline;
  FakeNetwork network{[](TileId, TileId, Message) { return Latency{3}; }};
  FakeMemory memory;
  FakeHost host;
  FakeSpeculation speculation;
  FakeAborter aborter;
  SpeculativeRule rule;
  Arbiter arbiter{config, timeline, network, host};
  Promotion promotion{timeline, network, TileId{0}, 2};
  TaskContext context{.config = config,
                      .timeline = timeline,
                      .network = network,
                      .memory = memory,
                      .host = host,
                      .rng = Rng(1)};
  TileState state{context, *this, TileId{1}};
  std::vector<std::unique_ptr<Attempt>> attempts;
  std::vector<Heard> heard;
};

}  // namespace rubato::chip::test
