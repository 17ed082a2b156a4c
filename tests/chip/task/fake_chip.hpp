// A chip for tests of the task units: cores that run scripts, a network whose delays the test chooses, and a
// memory of constant latency. An oracle sees everything at once and checks the rules at every event.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "chip/config/config.hpp"
#include "chip/task/task_units.hpp"

namespace rubato::chip::test {

/// Script of a task: it creates its children one after another, `gap` cycles before each, then finishes after
/// `tail`.
struct Script {
  Latency gap = 1, tail = 10;
  std::vector<TaskDescriptor> children;
};
using Program = std::function<Script(const TaskDescriptor&)>;

class FakeNetwork final : public Network {
 public:
  using Delay = std::function<Latency(TileId from, TileId to, Message)>;
  explicit FakeNetwork(Delay delay) : delay_(std::move(delay)) {}
  Cycle send(TileId from, TileId to, Message message, Cycle now) override {
    if (from == to) return now;
    bytes[static_cast<unsigned>(message.traffic)] += message.bytes;
    ++messages[static_cast<unsigned>(message.traffic)];
    return now + delay_(from, to, message);
  }
  std::uint64_t bytes[kTrafficClasses] = {}, messages[kTrafficClasses] = {};

 private:
  Delay delay_;
};

class FakeMemory final : public MemorySystem {
 public:
  AccessResult access(CoreId, LineAddr line, AccessKind kind, Cycle now) override {
    (is_write(kind) ? stores : loads)++;
    lines.insert(line.value);
    AccessResult result;
    result.cycle = now + latency;
    return result;
  }
  void warm(CoreId, LineAddr, AccessKind) override {}
  void forget(LineAddr, LineAddr) override {}
  Latency latency = 20;
  std::uint64_t loads = 0, stores = 0;
  std::set<std::uint64_t> lines;
};

inline Config small_config(std::uint32_t cores, std::uint32_t cores_per_tile) {
  Config config;
  config.chip.cores = cores;
  config.chip.cores_per_tile = cores_per_tile;
  config.chip.mesh_width = cores / cores_per_tile;
  config.chip.mesh_height = 1;
  return config;
}

class FakeChip final : public TaskHost, public EventHandler, public TaskObserver {
 public:
  static constexpr Addr kSpillBase = 0x4000'0000;
  static constexpr std::uint64_t kSpillBytes = 1u << 24;

  FakeChip(const Config& c, Program program, FakeNetwork::Delay delay)
      : config(c),
        network(std::move(delay)),
        program_(std::move(program)),
        cores_(c.chip.cores),
        units({.config = config,
               .timeline = timeline,
               .network = network,
               .memory = memory,
               .host = *this,
               .spill_base = kSpillBase,
               .spill_bytes_per_tile = kSpillBytes}) {
    units.observe(this);
  }

  /// Runs a region that starts now with these tasks; fails if it does not end by `limit` more cycles.
  void run(const std::vector<TaskDescriptor>& initial, Latency limit = 50'000'000) {
    for (const auto& task : initial) units.create_before_region(task);
    ended = false;
    units.begin_region(timeline.now(), 0);
    for (std::uint32_t c = 0; c < config.chip.cores; ++c) timeline.schedule(timeline.now(), this, kFree, c);
    const Cycle last = timeline.now() + limit;
    while (!ended && timeline.now() < last && timeline.step()) {
    }
    if (!ended) ADD_FAILURE() << "no progress:\n" << units.describe_waiting();
    EXPECT_TRUE(alive.empty()) << "the region ended before its tasks";
  }

  // Events of the run.
  struct Event {
    TaskDescriptor task;
    Cycle created, enqueued, dispatched, finished;
    std::uint32_t core = 0;
  };
  std::map<std::uint64_t, Event> events;  ///< by task id
  std::vector<std::uint64_t> order;       ///< ids as dispatched
  std::vector<std::pair<Cycle, VirtualTime>> rounds;
  std::uint64_t stalls = 0, spilled = 0, refilled = 0;
  std::map<std::uint64_t, Cycle> refilled_at;           ///< by task id, the last time
  std::uint32_t running_refills = 0, most_refills = 0;  ///< at once
  Cycle end{};
  bool ended = false;
  std::string error;  ///< of the last create

  // TaskHost
  void wake(CoreId core, Cycle at) override { timeline.schedule(at, this, kWake, core.value); }
  void end_region(Cycle at) override {
    ended = true;
    end = at;
  }
  bool abort_running(CoreId, Cycle) override {
    ADD_FAILURE() << "nothing speculates, so nothing aborts";
    return false;
  }
  bool is_in_capsule(CoreId) const override { return false; }
  void become_nonspeculative(CoreId) override { ADD_FAILURE() << "nothing speculates"; }
  void become_nonspeculative_suspended(std::uint64_t) override { ADD_FAILURE() << "nothing speculates"; }
  void free_record(LineAddr) override { ADD_FAILURE() << "nothing is aborted"; }
  void retire(Attempt&, bool) override { ADD_FAILURE() << "nothing speculates"; }
  void no_progress(const std::string&, const std::string&) override {
    ADD_FAILURE() << "no task waits for a group";
  }
  bool awaits_time() const override { return false; }

  // TaskObserver: the oracle.
  void on_created(std::uint64_t id, std::uint64_t, const TaskDescriptor& task, CoreId, Cycle now) override {
    if (task.has_timestamp) alive.insert(task.timestamp);
    EXPECT_TRUE(events.emplace(id, Event{task, now, Cycle{}, Cycle{}, Cycle{}}).second);
  }
  void on_enqueued(std::uint64_t id, TileId, Cycle now) override { events.at(id).enqueued = now; }
  void on_dispatched(CoreId core, const DispatchedTask& task, Cycle now) override {
    if (task.kind == DispatchedTask::Kind::refill) most_refills = std::max(most_refills, ++running_refills);
    if (task.kind != DispatchedTask::Kind::guest) return;
    Event& event = events.at(task.id);
    EXPECT_EQ(event.dispatched, Cycle{}) << "a task runs twice";
    event.dispatched = now;
    event.core = core.value;
    order.push_back(task.id);
    const TaskDescriptor& d = task.descriptor;
    if (d.has_timestamp) {
      EXPECT_EQ(d.timestamp, *alive.begin()) << "runs while an earlier task is unfinished";
    }
    if (d.has_locale) {
      EXPECT_TRUE(locales.insert(d.locale).second) << "two tasks of one locale run at once";
    }
    check_queues();
  }
  void on_finished(std::uint64_t id, CoreId, Cycle now) override {
    Event& event = events.at(id);
    event.finished = now;
    if (event.task.has_timestamp) alive.erase(alive.find(event.task.timestamp));
    if (event.task.has_locale) locales.erase(event.task.locale);
  }
  void on_spilled(std::uint64_t, TileId, Cycle) override { ++spilled; }
  void on_refilled(std::uint64_t id, TileId, Cycle now) override { ++refilled, refilled_at[id] = now; }
  void on_internal_finished(CoreId, DispatchedTask::Kind kind, Cycle) override {
    running_refills -= kind == DispatchedTask::Kind::refill ? 1 : 0;
  }
  void on_gvt(VirtualTime gvt, Cycle now) override {
    const Timestamp truth = alive.empty() ? kMaxVirtualTime.timestamp : *alive.begin();
    EXPECT_LE(gvt.timestamp, truth) << "a round missed a task";
    if (in_send_buffers() == 0) {
      EXPECT_EQ(gvt.timestamp, truth);
    }
    if (!rounds.empty() && rounds.back().first < now && !new_region_) {
      EXPECT_GE(gvt, rounds.back().second);
    }
    new_region_ = false;
    rounds.emplace_back(now, gvt);
  }

  const Event& event_of(std::uint64_t argument) const {
    for (const auto& [id, event] : events) {
      if (event.task.arguments[0] == argument) return event;
    }
    throw std::runtime_error("no such task");
  }

  std::uint64_t in_send_buffers() const {
    std::uint64_t sum = 0;
    for (std::uint32_t t = 0; t < config.tiles(); ++t) sum += units.unit(TileId{t}).state().send.used();
    return sum;
  }

  const Config config;
  Timeline timeline;
  FakeNetwork network;
  FakeMemory memory;
  std::multiset<Timestamp> alive;  ///< of tasks created and not finished
  std::set<Locale> locales;        ///< of running tasks

 private:
  enum Kind : std::uint32_t { kFree, kWake, kAct, kInternal };
  enum class State { free, idle, running, stalled, internal };
  struct Core {
    State state = State::free;
    Script script;
    std::size_t next = 0;
  };

  void on_event(Cycle now, std::uint32_t kind, std::uint64_t payload) override {
    const CoreId core{static_cast<std::uint32_t>(payload)};
    Core& c = cores_[core.value];
    switch (kind) {
      case kFree:
        return ask(core, now);
      case kWake:
        if (c.state == State::stalled) return act(core, now);
        EXPECT_EQ(c.state, State::idle) << "a core is woken that does not wait";
        return ask(core, now);
      case kAct:
        return act(core, now);
      case kInternal:
        if (const Cycle next = units.step_internal(core, now); next != kNever) {
          EXPECT_GT(next, now);
          timeline.schedule(next, this, kInternal, core.value);
        } else {
          c.state = State::free;
          ask(core, now);
        }
    }
  }

  void ask(CoreId core, Cycle now) {
    Core& c = cores_[core.value];
    c.state = State::idle;
    DispatchedTask task;
    if (!units.dispatch(core, now, task)) return;
    const Cycle start = now + config.task.dequeue_cycles;
    if (task.kind != DispatchedTask::Kind::guest) {
      c.state = State::internal;
      timeline.schedule(start, this, kInternal, core.value);
      return;
    }
    c.state = State::running;
    c.script = program_(task.descriptor);
    c.next = 0;
    timeline.schedule(start + (c.script.children.empty() ? c.script.tail : c.script.gap), this, kAct,
                      core.value);
  }

  void act(CoreId core, Cycle now) {
    Core& c = cores_[core.value];
    c.state = State::running;
    if (c.next < c.script.children.size()) {
      const CreateOutcome outcome = units.create(core, c.script.children[c.next], now, error);
      check_queues();
      if (outcome == CreateOutcome::stalled) {
        ++stalls;
        c.state = State::stalled;
        return;
      }
      const bool more = ++c.next < c.script.children.size();
      timeline.schedule(now + (more ? c.script.gap : c.script.tail), this, kAct, core.value);
      return;
    }
    c.state = State::free;
    EXPECT_TRUE(units.finish(core, now, false));
    timeline.schedule(now + config.task.finish_cycles, this, kFree, core.value);
  }

  void check_queues() const {
    for (std::uint32_t t = 0; t < config.tiles(); ++t) {
      const TaskUnit& unit = units.unit(TileId{t});
      if (config.task.unlimited_queues) continue;
      EXPECT_LE(unit.state().queue.entries(), unit.state().queue.capacity());
      EXPECT_LE(unit.state().send.used(), unit.state().send.capacity());
    }
  }

  Program program_;
  std::vector<Core> cores_;
  bool new_region_ = false;

 public:
  void expect_new_region() { new_region_ = true; }
  TaskUnits units;
};

/// A NONSPEC task that carries `name` as its first argument.
struct Make {
  std::uint64_t name = 0;
  std::int64_t at = -1;  ///< timestamp; -1: none
  std::int64_t on = -1;  ///< locale; -1: none
  TaskType type = TaskType::nonspec;
  std::uint8_t arguments = 1;
};
inline TaskDescriptor make(Make m) {
  TaskDescriptor d;
  d.function = 0x10000;
  d.type = m.type;
  d.argument_count = m.arguments;
  d.arguments[0] = m.name;
  d.has_timestamp = m.at >= 0;
  d.timestamp = m.at >= 0 ? static_cast<Timestamp>(m.at) : 0;
  d.has_locale = m.on >= 0;
  d.locale = m.on >= 0 ? static_cast<Locale>(m.on) : 0;
  return d;
}

/// Every message takes `cycles`.
inline FakeNetwork::Delay constant(Latency cycles) {
  return [cycles](TileId, TileId, Message) { return cycles; };
}

}  // namespace rubato::chip::test
