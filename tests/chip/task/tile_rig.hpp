// A tile's state without cores and task units: its queues, core states and what all tiles share, for tests of
// the parts that work on them. Messages and memory take no time that a test looks at.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
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
  bool is_in_capsule(CoreId) const override { return false; }
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

struct TileRig : EventHandler {
  /// Two tiles of `cores` cores; the tile under test is the second one. `commit_queue`: entries a core.
  explicit TileRig(std::uint32_t cores, bool speculates = true, std::uint32_t commit_queue = 16)
      : config(config_of(cores, commit_queue)) {
    if (speculates) context.speculation = &speculation;
    context.arbiter = &arbiter;
    state.begin_region(Cycle{0});
  }
  /// A task of this timestamp runs on the core of `slot`; with an attempt if it is speculative.
  Task& run(std::uint32_t slot, Timestamp timestamp, bool is_speculative, TaskType type = TaskType::mayspec) {
    TaskDescriptor descriptor;
    descriptor.type = type;
    descriptor.has_timestamp = true;
    descriptor.timestamp = timestamp;
    Task* const task = context.make_task(descriptor, 0);
    task->order = timestamp;
    task->virtual_time = {timestamp, task->id};
    state.queue.insert(task);
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
  void on_event(Cycle, std::uint32_t, std::uint64_t) override {}

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
  Arbiter arbiter{config, timeline, network, host};
  TaskContext context{.config = config,
                      .timeline = timeline,
                      .network = network,
                      .memory = memory,
                      .host = host,
                      .rng = Rng(1)};
  TileState state{context, *this, TileId{1}};
  std::vector<std::unique_ptr<Attempt>> attempts;
};

}  // namespace rubato::chip::test
