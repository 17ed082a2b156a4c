// The task units rule by rule, with cycles computed by hand. The default costs are 5 cycles each for create
// (the core's own), dequeue and finish; the fake network takes what each test says.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/chip/task/fake_chip.hpp"

namespace rubato::chip::test {
namespace {

/// Program of a table: name -> script.
struct Table {
  std::map<std::uint64_t, Script> scripts;
  Script operator()(const TaskDescriptor& d) const {
    const auto it = scripts.find(d.arguments[0]);
    return it != scripts.end() ? it->second : Script{};
  }
};

/// A locale that the hash sends to `tile`.
std::int64_t locale_on(const Config& config, std::uint32_t tile, std::int64_t from = 0) {
  const HashTaskMapper mapper({.tiles = config.tiles(), .seed = mix64(config.chip.seed)});
  while (mapper.tile_of(static_cast<Locale>(from)).value != tile) ++from;
  return from;
}

// ---- Who may run ----

TEST(SpeculativeRule, KeepsMayspecTasksFromAFullCommitQueueButNotTheEarliest) {
  const SpeculativeRule rule;
  Task parent, task;
  task.uncommitted_parent = &parent;
  task.descriptor.has_timestamp = true;
  const auto may_run = [&](TaskType type, Timestamp timestamp, std::optional<Timestamp> hold_from) {
    task.descriptor.type = type;
    task.descriptor.timestamp = task.order = timestamp;
    return rule.may_run(task, {.gvt = {5, 0}, .hold_from = hold_from});
  };
  EXPECT_EQ(may_run(TaskType::mayspec, 8, std::nullopt), RunMode::speculative);
  EXPECT_EQ(may_run(TaskType::mayspec, kMaxVirtualTime.timestamp, std::nullopt), RunMode::speculative);
  EXPECT_EQ(may_run(TaskType::mayspec, 8, 8), RunMode::none);
  EXPECT_EQ(may_run(TaskType::mayspec, 7, 8), RunMode::speculative);  // takes the place of a later one
  EXPECT_EQ(may_run(TaskType::mayspec, 5, 0), RunMode::speculative);
  EXPECT_EQ(may_run(TaskType::spec, 8, 8), RunMode::speculative);
}

TEST(SpeculativeRule, LetsMayspecTasksWaitForTheTimestampOfWhomTheyYieldTo) {
  const SpeculativeRule rule;
  Task task;
  task.descriptor = {.timestamp = 9, .type = TaskType::mayspec, .has_timestamp = true};
  task.order = 9;
  task.speculates_from = 6;
  const auto may_run = [&](Timestamp gvt) { return rule.may_run(task, {.gvt = {gvt, 0}}); };
  EXPECT_EQ(may_run(5), RunMode::none);
  EXPECT_EQ(may_run(6), RunMode::speculative);
  EXPECT_EQ(may_run(9), RunMode::non_speculative);
  // At the earliest timestamp the task runs, whatever it waits for: otherwise it would keep others from
  // running non-speculatively.
  Task parent;
  task.uncommitted_parent = &parent;
  task.speculates_from = 10;
  EXPECT_EQ(may_run(8), RunMode::none);
  EXPECT_EQ(may_run(9), RunMode::speculative);
}

// ---- Enqueue protocol ----

TEST(Enqueue, RemoteTaskIsDispatchedWhenItsMessageArrivesAndFreesTheSendBufferWhenAcknowledged) {
  const Config config = small_config(2, 1);
  const auto here = locale_on(config, 0), there = locale_on(config, 1);
  const TaskDescriptor child = make({.name = 2, .on = there, .arguments = 3});
  FakeChip chip(config, Table{{{1, {.gap = 1, .tail = 100, .children = {child}}}}}, constant(7));
  chip.run({make({.name = 1, .on = here})});
  const auto& parent = chip.event_of(1);
  const auto& event = chip.event_of(2);
  EXPECT_EQ(event.created, parent.dispatched + 5 + 1);  // dequeue, gap
  EXPECT_EQ(event.enqueued, event.created + 7);
  EXPECT_EQ(event.dispatched, event.created + 7);
  // 12 B + 8 an argument, and 2 B back.
  EXPECT_EQ(chip.network.bytes[static_cast<unsigned>(TrafficClass::task)], 12u + 3 * 8 + 2);
  EXPECT_EQ(chip.network.messages[static_cast<unsigned>(TrafficClass::task)], 2u);
}

TEST(Enqueue, LocalTaskTakesNoMessageAndNoTime) {
  const Config config = small_config(2, 2);
  FakeChip chip(config, Table{{{1, {.gap = 1, .tail = 100, .children = {make({.name = 2})}}}}}, constant(7));
  chip.run({make({.name = 1})});
  EXPECT_EQ(chip.event_of(2).dispatched, chip.event_of(2).created);
  EXPECT_EQ(chip.network.messages[static_cast<unsigned>(TrafficClass::task)], 0u);
}

TEST(Enqueue, NonSpeculativeCreatorsMayFillTheSendBuffer) {
  // 4 entries: the fifth create stalls until the first acknowledgement 2 * 50 cycles after its create.
  for (const bool earliest : {false, true}) {
    Config config = small_config(2, 1);
    config.task.send_buffer = 4;
    const auto here = locale_on(config, 0), there = locale_on(config, 1);
    Script script{.gap = 1, .tail = 1, .children = {}};
    for (std::uint64_t i = 0; i < 5; ++i) {
      script.children.push_back(make({.name = 10 + i, .at = earliest ? 0 : -1, .on = there}));
    }
    FakeChip chip(config, Table{{{1, script}}}, constant(50));
    chip.run({make({.name = 1, .at = earliest ? 0 : -1, .on = here})});
    EXPECT_EQ(chip.stalls, 1u);
    const std::uint64_t stalled = 14;
    EXPECT_EQ(chip.event_of(stalled - 1).created, chip.event_of(10).created + (stalled - 11));
    EXPECT_EQ(chip.event_of(stalled).created, chip.event_of(10).created + 100);
  }
}

TEST(Enqueue, FullTaskQueueRefusesAndGrantsAnEntryLater) {
  // Capacity 4: one entry for refills and one for the earliest task leave 2 for untimestamped tasks, while
  // the only core of the tile runs a long one.
  Config config = small_config(2, 1);
  config.task.task_queue = 4;
  config.task.spill_threshold = 1;
  const auto here = locale_on(config, 0), there = locale_on(config, 1);
  Script creator{.gap = 1, .tail = 1, .children = {make({.name = 2, .on = there})}};
  for (std::uint64_t i = 0; i < 3; ++i) creator.children.push_back(make({.name = 10 + i}));
  creator.children[1].has_locale = creator.children[2].has_locale = creator.children[3].has_locale = true;
  for (int i = 1; i <= 3; ++i) creator.children[i].locale = static_cast<Locale>(there);
  FakeChip chip(config, Table{{{1, creator}, {2, {.gap = 1, .tail = 1000, .children = {}}}}}, constant(5));
  StatRegistry registry;
  chip.units.register_stats(registry);
  chip.run({make({.name = 1, .on = here})});
  EXPECT_EQ(*registry.find("tile.1.task_unit.refusals")->counter, 1u);
  // When the long task finishes its core first spills one of the two that wait, which frees the entry.
  EXPECT_GT(chip.event_of(12).enqueued, chip.event_of(2).finished);
  EXPECT_EQ(chip.order.size(), 5u);
}

// ---- Dispatch ----

TEST(Dispatch, OneLocaleNeverOverlapsAndOthersRunMeanwhile) {
  const Config config = small_config(4, 4);
  Table table;
  std::vector<TaskDescriptor> tasks;
  for (std::uint64_t i = 0; i < 20; ++i) {
    tasks.push_back(make({.name = i, .at = 0, .on = static_cast<std::int64_t>(i % 2)}));
    table.scripts[i] = {.gap = 1, .tail = 100, .children = {}};
  }
  FakeChip chip(config, table, constant(1));
  chip.run(tasks);
  // Two locales, ten tasks each: two run at a time, and the region takes ten tasks' time or a little more.
  EXPECT_GE(chip.end.value, 10 * 105u);
  EXPECT_LE(chip.end.value, 10 * 105u + 800);
}

TEST(Dispatch, TasksOfOnePlaceRunOnItsTileAtOnce) {
  const Config config = small_config(8, 4);
  Table table;
  std::vector<TaskDescriptor> tasks;
  for (std::uint64_t i = 0; i < 20; ++i) {
    tasks.push_back(make({.name = i, .at = 0}));
    tasks.back().has_place = true;
    tasks.back().locale = 5;
    table.scripts[i] = {.gap = 1, .tail = 100, .children = {}};
  }
  FakeChip chip(config, table, constant(1));
  chip.run(tasks);
  for (const auto& [id, event] : chip.events) EXPECT_GE(event.core, 4u) << "the tile of cores 4 to 7";
  // Four at a time: the time of five tasks or a little more.
  EXPECT_GE(chip.end.value, 5 * 105u);
  EXPECT_LE(chip.end.value, 5 * 105u + 800);
}

TEST(Dispatch, MayspecRunsAsNonspec) {
  const Config config = small_config(8, 4);
  std::vector<TaskDescriptor> tasks;
  for (std::uint64_t i = 0; i < 40; ++i) {
    tasks.push_back(make({.name = i, .at = static_cast<std::int64_t>(i), .type = TaskType::mayspec}));
  }
  FakeChip chip(config, Table{}, constant(3));
  chip.run(tasks);
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(chip.events.at(chip.order[i]).task.timestamp, i);
  }
}

TEST(Dispatch, UntimestampedTasksDoNotWaitForTheGvt) {
  const Config config = small_config(2, 2);
  Table table{{{1, {.gap = 1, .tail = 5000, .children = {}}}}};
  FakeChip chip(config, table, constant(3));
  chip.run({make({.name = 1, .at = 0}), make({.name = 2}), make({.name = 3, .at = 1})});
  EXPECT_LT(chip.event_of(2).finished, chip.event_of(1).finished);
  EXPECT_GT(chip.event_of(3).dispatched, chip.event_of(1).finished);
}

// ---- Rounds ----

/// Task 1 (timestamp 0) runs on tile 0 and finishes at a cycle that the test chooses by its tail; task 2
/// (timestamp 1) waits on tile 1. The arbiter is on tile 1, one message away.
struct Barrier {
  explicit Barrier(Latency tail, Latency hop, bool delay = true) : config(small_config(2, 1)) {
    config.arbiter.delay = delay;
    FakeChip chip(config, Table{{{1, {.gap = 1, .tail = tail, .children = {}}}}}, constant(hop));
    chip.run({make({.name = 1, .at = 0, .on = locale_on(config, 0)}),
              make({.name = 2, .at = 1, .on = locale_on(config, 1)})});
    first = chip.event_of(1);
    second = chip.event_of(2);
    virtual_time_bytes = chip.network.bytes[static_cast<unsigned>(TrafficClass::virtual_time)];
    rounds = chip.rounds;
  }
  Config config;
  FakeChip::Event first, second;
  std::uint64_t virtual_time_bytes;
  std::vector<std::pair<Cycle, VirtualTime>> rounds;
};

TEST(Rounds, TaskOfTheNextTimestampRunsWhenTheFirstRoundAfterTheFinishHasArrived) {
  // Cycle at which task 1 finishes with tail 0.
  const Cycle base = Barrier(0, 10).first.finished;
  ASSERT_LT(base, Cycle{900});
  const Latency to_1000 = Cycle{1000} - base;
  // Finished before the sample at 1000: the report travels 10 cycles; the arbiter's own tile knows at once.
  const Barrier before(to_1000 - 1, 10);
  EXPECT_EQ(before.first.finished, Cycle{999});
  EXPECT_EQ(before.second.dispatched, Cycle{1000 + 10});
  // Finished after it: one period later.
  const Barrier after(to_1000 + 1, 10);
  EXPECT_EQ(after.first.finished, Cycle{1001});
  EXPECT_EQ(after.second.dispatched, Cycle{1200 + 10});
}

TEST(Rounds, WithoutDelayTheyTakeNoTimeAndNoBytes) {
  const Barrier barrier(500, 10, false);
  EXPECT_EQ(barrier.second.dispatched.value % 200, 0u);
  EXPECT_LE(barrier.second.dispatched, barrier.first.finished + 200);
  EXPECT_EQ(barrier.virtual_time_bytes, 0u);
}

TEST(Rounds, EachCarriesOneReportAndOneGvtATileButTheArbitersOwn) {
  const Barrier barrier(500, 10);
  EXPECT_EQ(barrier.virtual_time_bytes, barrier.rounds.size() * (24 + 16));
}

TEST(Rounds, AnIdleStretchHoldsNone) {
  const Barrier barrier(1'000'000, 10);
  EXPECT_LE(barrier.rounds.size(), 8u);
  EXPECT_LE(barrier.second.dispatched, barrier.first.finished + 210);
}

TEST(Rounds, TaskInAMessageIsNotMissed) {
  // The child's message takes 5000 cycles, many rounds; its parent has finished; a later task waits
  // elsewhere.
  const Config config = small_config(4, 1);
  const TaskDescriptor child = make({.name = 2, .at = 1, .on = locale_on(config, 1)});
  FakeChip chip(config, Table{{{1, {.gap = 1, .tail = 1, .children = {child}}}}},
                [](TileId, TileId, Message m) { return m.traffic == TrafficClass::task ? 5000 : 3; });
  chip.run({make({.name = 1, .at = 0, .on = locale_on(config, 0)}),
            make({.name = 3, .at = 2, .on = locale_on(config, 2)})});
  EXPECT_GT(chip.event_of(3).dispatched, chip.event_of(2).finished);
  // Also not when only its acknowledgement is late: the child waits for nothing, task 3 for the
  // acknowledgement.
  EXPECT_GT(chip.event_of(3).dispatched, chip.event_of(2).enqueued + 5000);
}

TEST(Rounds, RegionEndsOnlyAfterUntimestampedTasks) {
  const Config config = small_config(4, 2);
  FakeChip chip(config, Table{{{1, {.gap = 1, .tail = 3000, .children = {make({.name = 2})}}}}}, constant(4));
  chip.run({make({.name = 1})});
  EXPECT_EQ(chip.order.size(), 2u);
  EXPECT_GT(chip.end, chip.event_of(1).finished);
  EXPECT_LE(chip.end, chip.event_of(1).finished + 210);
}

TEST(Rounds, RegionWithoutTasksEndsAfterOneRound) {
  FakeChip chip(small_config(4, 2), Table{}, constant(4));
  chip.run({});
  EXPECT_EQ(chip.end, Cycle{200 + 4 + 4});
}

TEST(Rounds, RegionsFollowOneAnother) {
  FakeChip chip(small_config(4, 2), Table{}, constant(4));
  chip.run({make({.name = 1, .at = 100})});
  chip.expect_new_region();
  chip.run({make({.name = 2, .at = 1}), make({.name = 3, .at = 2})});
  EXPECT_EQ(chip.order.size(), 3u);
}

// ---- One core ----

TEST(OneCore, RunsTheLowestTaskAtOnceWhateverItsTypeWithoutMessagesOrRounds) {
  const Config config = small_config(1, 1);
  Table table;
  table.scripts[0].children = {make({.name = 1, .at = 7, .type = TaskType::spec}),
                               make({.name = 2, .at = 3, .type = TaskType::mayspec}),
                               make({.name = 3, .at = 5, .type = TaskType::nonspec})};
  table.scripts[2].children = {make({.name = 4, .at = 4, .type = TaskType::spec})};
  table.scripts[2].tail = 10;
  FakeChip chip(config, table, constant(4));
  chip.run({make({.name = 0, .at = 0, .type = TaskType::spec})});
  std::vector<std::uint64_t> names;
  for (const auto id : chip.order) names.push_back(chip.events.at(id).task.arguments[0]);
  EXPECT_EQ(names, (std::vector<std::uint64_t>{0, 2, 4, 3, 1}));
  EXPECT_EQ(chip.event_of(4).dispatched, chip.event_of(2).finished + 5);  // finish, nothing else
  EXPECT_TRUE(chip.rounds.empty());
  for (const auto bytes : chip.network.bytes) EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(chip.end, chip.event_of(1).finished + 5);
}

TEST(OneCore, TimestampOrderIsExactThroughSpills) {
  Config config = small_config(1, 1);
  config.task.task_queue = 8;
  Rng rng(3);
  std::vector<TaskDescriptor> tasks;
  for (std::uint64_t i = 1; i <= 500; ++i) {
    tasks.push_back(make({.name = i, .at = static_cast<std::int64_t>(rng.below(100))}));
  }
  Table table;
  for (std::uint64_t i = 1; i <= 500; ++i) {
    for (std::uint64_t j = 0; j < rng.below(3); ++j) {
      const auto at = tasks[i - 1].timestamp + rng.below(30);
      table.scripts[i].children.push_back(make({.name = 1000 + i, .at = static_cast<std::int64_t>(at)}));
    }
  }
  FakeChip chip(config, table, constant(4));
  chip.run(tasks);
  EXPECT_GT(chip.spilled, 100u);
  for (std::size_t i = 1; i < chip.order.size(); ++i) {
    EXPECT_LE(chip.events.at(chip.order[i - 1]).task.timestamp, chip.events.at(chip.order[i]).task.timestamp);
  }
}

// ---- Errors (C8) ----

TEST(Errors, ChildEarlierThanItsParentIsNamedWithBothFunctionsAndTimestamps) {
  TaskDescriptor child = make({.name = 2, .at = 4});
  child.function = 0x2468;
  FakeChip chip(small_config(2, 2), Table{{{1, {.gap = 1, .tail = 1, .children = {child}}}}}, constant(1));
  chip.run({make({.name = 1, .at = 5})});
  EXPECT_EQ(chip.error,
            "task 0x10000 at timestamp 5 creates task 0x2468 at timestamp 4: a child's timestamp must not be "
            "earlier "
            "than its creator's");
}

TEST(Errors, ChildOfTheSameTimestampIsFine) {
  FakeChip chip(small_config(2, 2),
                Table{{{1, {.gap = 1, .tail = 1, .children = {make({.name = 2, .at = 5})}}}}}, constant(1));
  chip.run({make({.name = 1, .at = 5})});
  EXPECT_EQ(chip.error, "");
  EXPECT_EQ(chip.order.size(), 2u);
}

TEST(Errors, TimestampedChildOfAnUntimestampedTaskIsRefused) {
  FakeChip chip(small_config(2, 2),
                Table{{{1, {.gap = 1, .tail = 1, .children = {make({.name = 2, .at = 5})}}}}}, constant(1));
  chip.run({make({.name = 1})});
  EXPECT_EQ(chip.error,
            "task 0x10000 without a timestamp creates task 0x10000 at timestamp 5: only a task with a "
            "timestamp may "
            "create tasks with timestamps");
}

TEST(Errors, SpecOnSeveralCoresIsRefusedInWords) {
  const TaskDescriptor spec = make({.name = 2, .at = 5, .type = TaskType::spec});
  FakeChip chip(small_config(2, 2), Table{{{1, {.gap = 1, .tail = 1, .children = {spec}}}}}, constant(1));
  EXPECT_THROW(chip.units.create_before_region(spec), UsageError);
  chip.run({make({.name = 1, .at = 1})});
  EXPECT_NE(chip.error.find("SPEC tasks need speculation, which this chip does not have; declare "
                            "them mayspec or nonspec, or run on one core"),
            std::string::npos);
}

TEST(DescribeWaiting, NamesRunningTasksAndHowManyWaitForTheirLocale) {
  FakeChip* seen = nullptr;
  std::string report;
  const Program program = [&](const TaskDescriptor& d) {
    Script script;
    if (d.arguments[0] == 1) {
      script.children = {make({.name = 2, .at = 5, .on = 9}), make({.name = 3, .at = 5})};
      script.tail = 1000;
    }
    if (d.arguments[0] == 3) report = seen->units.describe_waiting();
    return script;
  };
  FakeChip chip(small_config(2, 2), program, constant(1));
  seen = &chip;
  chip.run({make({.name = 1, .at = 5, .on = 9})});
  EXPECT_NE(report.find("tile 0: 1 idle tasks"), std::string::npos) << report;
  EXPECT_NE(report.find("runs function 0x10000, timestamp 5, locale 9 for which 1 tasks wait"),
            std::string::npos)
      << report;
  EXPECT_EQ(chip.units.describe_waiting(), "");
}

// ---- Queue pressure (C13): progress with queues of a few entries ----

struct Pressure {
  std::uint32_t cores, per_tile;
};
class TinyQueues : public testing::TestWithParam<Pressure> {
 protected:
  Config config() const {
    Config c = small_config(GetParam().cores, GetParam().per_tile);
    c.task.task_queue = 4;
    c.task.send_buffer = 3;
    return c;
  }
};

/// A root that creates `count` tasks, each made by `child`.
template <class F>
Table fan(std::uint64_t count, F child) {
  Table table;
  for (std::uint64_t i = 0; i < count; ++i) table.scripts[1].children.push_back(child(i + 10));
  return table;
}

TEST_P(TinyQueues, MassiveFanOut) {
  FakeChip chip(
      config(),
      fan(5000, [](std::uint64_t i) { return make({.name = i, .at = static_cast<std::int64_t>(i % 97)}); }),
      constant(5));
  chip.run({make({.name = 1, .at = 0})});
  EXPECT_EQ(chip.order.size(), 5001u);
}

TEST_P(TinyQueues, AllOfOneTimestamp) {
  FakeChip chip(config(), fan(3000, [](std::uint64_t i) { return make({.name = i, .at = 0}); }), constant(5));
  chip.run({make({.name = 1, .at = 0})});
  EXPECT_EQ(chip.order.size(), 3001u);
}

TEST_P(TinyQueues, AllOfOneLocale) {
  FakeChip chip(
      config(),
      fan(2000,
          [](std::uint64_t i) { return make({.name = i, .at = static_cast<std::int64_t>(i % 3), .on = 5}); }),
      constant(5));
  chip.run({make({.name = 1, .at = 0})});
  EXPECT_EQ(chip.order.size(), 2001u);
}

TEST_P(TinyQueues, UntimestampedFloodFromEveryCore) {
  // 30 creators of 100 tasks each: all cores create into full queues at once.
  Table table;
  for (std::uint64_t i = 0; i < 30; ++i) {
    table.scripts[1].children.push_back(make({.name = 2 + i}));
    for (std::uint64_t j = 0; j < 100; ++j) {
      table.scripts[2 + i].children.push_back(make({.name = 100 + i * 100 + j}));
    }
  }
  FakeChip chip(config(), table, constant(5));
  StatRegistry registry;
  chip.units.register_stats(registry);
  chip.run({make({.name = 1})});
  EXPECT_EQ(chip.order.size(), 3031u);
  EXPECT_GT(chip.stalls, 100u);
}

TEST_P(TinyQueues, ChainOfTasks) {
  const Program chain = [](const TaskDescriptor& d) {
    Script s;
    if (d.arguments[0] < 3000) {
      s.children.push_back(make(
          {.name = d.arguments[0] + 1, .at = static_cast<std::int64_t>(d.timestamp + d.arguments[0] % 2)}));
    }
    return s;
  };
  FakeChip chip(config(), chain, constant(5));
  chip.run({make({.name = 1, .at = 0})});
  EXPECT_EQ(chip.order.size(), 3000u);
}

INSTANTIATE_TEST_SUITE_P(Chips, TinyQueues,
                         testing::Values(Pressure{1, 1}, Pressure{4, 4}, Pressure{4, 1}, Pressure{16, 4}));

TEST(Spills, WriteTheLatestTasksAtTheThresholdAndLoseNone) {
  // 64 entries, threshold 85 %: 55 used, of which one is kept for refills: the 54th idle task starts a spill
  // of 15.
  Config config = small_config(2, 2);
  config.task.task_queue = 32;
  Table table =
      fan(54, [](std::uint64_t i) { return make({.name = i, .at = static_cast<std::int64_t>(i)}); });
  table.scripts[1].tail = 5000;
  FakeChip chip(config, table, constant(5));
  chip.run({make({.name = 1, .at = 0})});
  EXPECT_EQ(chip.spilled, 15u);
  EXPECT_EQ(chip.memory.stores, 6u);  // 15 descriptors of three words
  EXPECT_EQ(chip.memory.loads, 7u);   // and the first task's

  table.scripts[1].children.pop_back();
  FakeChip below(config, table, constant(5));
  below.run({make({.name = 1, .at = 0})});
  EXPECT_EQ(below.spilled, 0u);
}

TEST(Spills, InitialTasksAreReadFromMemoryAndCountInVirtualTime) {
  Config config = small_config(4, 1);
  std::vector<TaskDescriptor> tasks;
  for (std::uint64_t i = 0; i < 2000; ++i)
    tasks.push_back(make({.name = i, .at = static_cast<std::int64_t>(i / 50)}));
  FakeChip chip(config, Table{}, constant(5));
  chip.run(tasks);
  EXPECT_EQ(chip.order.size(), 2000u);
  EXPECT_GE(chip.memory.loads, 2000u * 3 / 8);
  EXPECT_EQ(chip.refilled, 2000u + chip.spilled);
}

TEST(Spills, ReadAheadAsFarAsTheLoadBufferAllows) {
  const auto first_dispatch = [](std::uint32_t load_buffer) {
    Config config = small_config(2, 1);
    config.core.load_buffer = load_buffer;
    std::vector<TaskDescriptor> tasks;
    for (std::uint64_t i = 0; i < 15; ++i)
      tasks.push_back(make({.name = i, .at = 0, .on = locale_on(config, 0)}));
    FakeChip chip(config, Table{}, constant(5));
    chip.memory.latency = 100;
    chip.run(tasks);
    return chip.events.at(chip.order.front()).dispatched.value;
  };
  // Dispatched when the tile's one core is free again. Loads of cycles 5 to 12, of two descriptors each; the
  // first are there at 105, and 15 are queued in 5 cycles each.
  EXPECT_EQ(first_dispatch(16), 5u + 100 + 15 * 5);
  EXPECT_EQ(first_dispatch(1), 5u + 8 * 100 + 15 * 5);
}

TEST(Spills, IdleCoresReadSeveralBatchesAtOnce) {
  // Four cores of one tile; memory is slow, and tasks are short: cores that have none read.
  Config config = small_config(4, 4);
  FakeChip chip(config, fan(1000, [](std::uint64_t i) { return make({.name = i, .at = 1}); }), constant(5));
  chip.memory.latency = 300;
  chip.run({make({.name = 1, .at = 0})});
  EXPECT_EQ(chip.order.size(), 1001u);
  EXPECT_EQ(chip.refilled, chip.spilled + 1);  // and the first task
  EXPECT_EQ(chip.most_refills, 4u);
  EXPECT_EQ(chip.running_refills, 0u);
}

TEST(Spills, TasksEarlierThanAllIdleOnesAreReadThoughTheQueueIsNearlyFull) {
  // 64 entries, threshold 55. In memory: two tasks of timestamp 0, tasks 1 to 13, and a batch of 15 from 100
  // on. The first creates 40 tasks from 2000 on; while the other runs, nothing more is read: 54 are used.
  // When 13 runs 41 are, too many for the whole batch, but what is idle cannot run before it.
  Config config = small_config(2, 2);
  config.task.task_queue = 32;
  Table table;
  for (std::uint64_t i = 0; i < 40; ++i)
    table.scripts[1].children.push_back(make({.name = 2000 + i, .at = static_cast<std::int64_t>(2000 + i)}));
  table.scripts[2].tail = 3000;
  table.scripts[13].tail = 3000;
  std::vector<TaskDescriptor> tasks = {make({.name = 1, .at = 0}), make({.name = 2, .at = 0})};
  for (std::int64_t t = 1; t <= 13; ++t)
    tasks.push_back(make({.name = static_cast<std::uint64_t>(t == 13 ? 13 : 50 + t), .at = t}));
  for (std::int64_t t = 100; t < 115; ++t)
    tasks.push_back(make({.name = static_cast<std::uint64_t>(t), .at = t}));
  FakeChip chip(config, table, constant(5));
  chip.run(tasks);
  EXPECT_EQ(chip.spilled, 0u);
  EXPECT_EQ(chip.order.size(), 70u);
  const auto read_at = [&](std::uint64_t name) {
    for (const auto& [id, event] : chip.events)
      if (event.task.arguments[0] == name) return chip.refilled_at.at(id);
    return Cycle{};
  };
  EXPECT_GT(read_at(100), chip.event_of(13).dispatched);
  EXPECT_LT(read_at(100), chip.event_of(13).finished);
  EXPECT_LT(read_at(112), chip.event_of(13).finished);  // up to the threshold
  EXPECT_GT(read_at(113), chip.event_of(13).finished);
}

TEST(Spills, UnlimitedQueuesNeverSpillOrStall) {
  Config config = small_config(4, 2);
  config.task.task_queue = 4;
  config.task.unlimited_queues = true;
  FakeChip chip(
      config,
      fan(5000, [](std::uint64_t i) { return make({.name = i, .at = static_cast<std::int64_t>(i)}); }),
      constant(500));
  chip.run({make({.name = 1, .at = 0})});
  EXPECT_EQ(chip.order.size(), 5001u);
  EXPECT_EQ(chip.spilled + chip.stalls, 0u);
}

TEST(Spills, TileWithTooFewEntriesIsRefused) {
  Config config = small_config(2, 1);
  config.task.task_queue = 3;
  EXPECT_THROW(FakeChip(config, Table{}, constant(1)), UsageError);
}

}  // namespace
}  // namespace rubato::chip::test
