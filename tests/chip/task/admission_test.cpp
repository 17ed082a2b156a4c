// Creates and tasks that wait for an entry: which have room, in which order they get it, and what they are
// told (C10, C13, C16).
// SPDX-License-Identifier: MIT
#include "chip/task/admission.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/chip/task/tile_rig.hpp"

namespace rubato::chip {
namespace {

using test::Make;
using Woken = std::vector<std::pair<std::uint32_t, Cycle>>;

Config small_queues() {
  Config config = test::small_config(4, 2);
  config.task.task_queue = 4;   // eight entries, one kept for refills, the last one for the earliest task
  config.task.send_buffer = 4;  // two closed to children of attempts
  return config;
}

/// A tile of two cores with eight entries of the task queue. Tasks of timestamp 0 are the earliest.
struct AdmissionRig : test::TileRig {
  AdmissionRig() : TileRig(small_queues()) {}
  /// So many tasks are idle here.
  void fill(std::uint32_t tasks) {
    for (std::uint32_t i = 0; i < tasks; ++i) idle.push_back(&put({.at = 50 + i}));
  }
  /// The latest of them is gone.
  void free_entry() {
    state.queue.discard(idle.back());
    idle.pop_back();
  }
  /// The task on `slot` creates one for this tile, or another.
  bool has_room_for(std::uint32_t slot, Make what, bool is_here = true) {
    state.slots[slot].destination = is_here ? state.tile : TileId{0};
    return admission.has_room_for(slot, test::make(what), Cycle{0});
  }
  void stall(std::uint32_t slot, Make what, bool is_here = true) {
    state.slots[slot].destination = is_here ? state.tile : TileId{0};
    admission.stall(slot, test::make(what), Cycle{0});
  }
  Admission admission{state};
  std::vector<Task*> idle;
};

TEST(Admission, KeepsTheLastEntryForTheEarliestTaskAndOneMoreFromChildrenOfAttempts) {
  struct Row {
    std::uint32_t idle;
    std::int64_t timestamp;
    bool is_of_attempt, has_room;
  };
  // The attempt of a creator has an entry, too.
  for (const Row& row :
       {Row{5, 9, false, true}, Row{6, 9, false, false}, Row{6, -1, false, false}, Row{6, 0, false, true},
        Row{7, 0, false, false}, Row{4, 9, true, true}, Row{5, 9, true, false}, Row{5, 0, true, false}}) {
    AdmissionRig rig;
    rig.run(0, 1, row.is_of_attempt);
    rig.fill(row.idle);
    EXPECT_EQ(rig.has_room_for(0, {.at = row.timestamp}), row.has_room)
        << row.idle << " idle tasks, timestamp " << row.timestamp << ", of an attempt: " << row.is_of_attempt;
  }
}

TEST(Admission, GivesEntriesToStalledCreatesInTheirOrder) {
  AdmissionRig rig;
  rig.run(0, 1, false);
  rig.run(1, 2, false);
  rig.fill(6);
  rig.stall(1, {.at = 9});
  rig.stall(0, {.at = 8});
  EXPECT_EQ(rig.state.states[1], CoreState::stalled);
  EXPECT_EQ(rig.state.counts.queue_stalls, 2u);
  rig.admission.serve_waiting(Cycle{3});
  EXPECT_TRUE(rig.host.woken.empty());
  rig.free_entry();
  rig.admission.serve_waiting(Cycle{5});
  EXPECT_EQ(rig.host.woken, (Woken{{3, Cycle{5}}}));  // core 1 of the second tile
  EXPECT_TRUE(rig.state.slots[1].granted);
  EXPECT_FALSE(rig.state.slots[0].granted);
  // The entry is kept for it, until it uses the entry.
  EXPECT_EQ(rig.state.queue.entries(), 6u);
  rig.admission.redeem(1, Cycle{6});
  EXPECT_EQ(rig.state.queue.entries(), 5u);
  rig.admission.serve_waiting(Cycle{7});
  EXPECT_TRUE(rig.state.slots[0].granted);
  EXPECT_FALSE(rig.admission.has_waiting());
}

TEST(Admission, LetsTheEarliestTaskPassThoseThatTheLastEntryIsNotFor) {
  AdmissionRig rig;
  rig.run(0, 1, false);
  rig.run(1, 2, false);
  rig.fill(6);
  rig.stall(0, {.at = 9});
  EXPECT_TRUE(rig.hear().empty());
  // There is room for this one: the tile looks again, in an event of its own.
  rig.stall(1, {.at = 0});
  EXPECT_EQ(rig.hear(), (std::vector<test::TileRig::Heard>{{Cycle{0}, TaskEvent::reconsider, 0}}));
  rig.admission.serve_waiting(Cycle{4});
  EXPECT_EQ(rig.host.woken, (Woken{{3, Cycle{4}}}));
}

TEST(Admission, TellsRefusedTasksOfOtherTilesWhenTheyHaveAnEntry) {
  AdmissionRig rig;
  rig.fill(6);
  Task& task = rig.make_task({.at = 9});
  EXPECT_FALSE(rig.admission.receive(&task, TileId{0}, 5, false, Cycle{10}));
  EXPECT_TRUE(rig.admission.has_refused(task));
  EXPECT_EQ(rig.state.counts.refused, 1u);
  rig.free_entry();
  rig.admission.serve_waiting(Cycle{20});
  EXPECT_FALSE(rig.admission.has_refused(task));
  EXPECT_EQ(rig.hear(), (std::vector<test::TileRig::Heard>{{Cycle{13}, TaskEvent::refused_arrives, 5},
                                                           {Cycle{23}, TaskEvent::grant_arrives, 5}}));
  EXPECT_EQ(rig.state.queue.entries(), 6u);
  EXPECT_TRUE(rig.admission.receive(&task, TileId{0}, 5, true, Cycle{30}));
  EXPECT_EQ(rig.state.queue.entries(), 5u);  // the caller inserts it
}

TEST(Admission, TakesDiscardedTasksWhereNoEntryIsFree) {
  AdmissionRig rig;
  rig.fill(7);
  Task& task = rig.make_task({.at = 9});
  task.is_discarded = true;
  EXPECT_TRUE(rig.admission.receive(&task, TileId{0}, 5, false, Cycle{10}));
}

TEST(Admission, ForgetsTheCreateOfAnAbortedTaskWithTheEntryThatWasPromised) {
  AdmissionRig rig;
  rig.run(0, 1, false);
  rig.run(1, 2, false);
  rig.fill(6);
  rig.stall(0, {.at = 8});
  rig.stall(1, {.at = 9});
  rig.admission.forget_create(1, Cycle{1});
  rig.free_entry();
  rig.free_entry();
  rig.admission.serve_waiting(Cycle{2});
  EXPECT_FALSE(rig.admission.has_waiting());
  EXPECT_FALSE(rig.state.slots[1].granted);
  EXPECT_EQ(rig.state.queue.entries(), 5u);
  rig.admission.forget_create(0, Cycle{3});
  EXPECT_FALSE(rig.state.slots[0].granted);
  EXPECT_EQ(rig.state.queue.entries(), 4u);
}

TEST(Admission, GivesTheLastEntryWhileAPromotionIsAwaited) {
  AdmissionRig rig;
  Task& stopped = rig.run(0, 1, true);
  stopped.attempt->state = Attempt::State::exceptioned;
  rig.state.commit_queue.add(stopped.attempt);
  rig.state.leave_core(0, CoreState::busy);
  rig.run(1, 2, false);
  rig.fill(5);  // six entries, with that of the attempt
  rig.stall(1, {.at = 9});
  rig.admission.serve_waiting(Cycle{1});
  EXPECT_FALSE(rig.state.slots[1].granted);
  rig.promotion.request(rig.state.tile, &stopped, Cycle{2});
  rig.admission.serve_waiting(Cycle{9});
  EXPECT_TRUE(rig.state.slots[1].granted);
}

TEST(Admission, ClosesTwoEntriesOfTheSendBufferToChildrenOfAttempts) {
  AdmissionRig rig;
  rig.run(0, 1, false);
  rig.run(1, 2, true);
  for (std::uint32_t used = 0; used <= 4; ++used) {
    EXPECT_EQ(rig.has_room_for(0, {.at = 9}, false), used < 4) << used << " in use";
    EXPECT_EQ(rig.has_room_for(1, {.at = 9}, false), used < 2) << used << " in use";
    if (used < 4) rig.admission.send(&rig.make_task({.at = 20}), TileId{0}, Cycle{0});
  }
}

TEST(Admission, WakesASenderWhenAnEntryIsAcknowledged) {
  AdmissionRig rig;
  rig.run(0, 1, false);
  for (int i = 0; i < 4; ++i) rig.admission.send(&rig.make_task({.at = 20}), TileId{0}, Cycle{0});
  rig.hear();
  rig.stall(0, {.at = 9}, false);
  EXPECT_EQ(rig.state.counts.send_stalls, 1u);
  EXPECT_TRUE(rig.admission.stalls());
  EXPECT_FALSE(rig.admission.has_waiting());  // not for the task queue
  rig.admission.expect_acknowledgement(2, Cycle{40});
  EXPECT_EQ(rig.hear(), (std::vector<test::TileRig::Heard>{{Cycle{40}, TaskEvent::accepted_arrives, 2}}));
  rig.state.send.remove(2);
  rig.admission.serve_senders(Cycle{40});
  EXPECT_EQ(rig.host.woken, (Woken{{2, Cycle{40}}}));
  EXPECT_FALSE(rig.admission.stalls());
}

TEST(Admission, SendsHeldTasksWhileTwoEntriesStayFreeForTheEarliestAndThoseWithoutTimestamp) {
  struct Row {
    std::int64_t timestamp;
    bool goes;
  };
  for (const Row& row : {Row{0, true}, Row{-1, true}, Row{9, false}}) {
    AdmissionRig rig;
    for (int i = 0; i < 2; ++i) rig.admission.send(&rig.make_task({.at = 20}), TileId{0}, Cycle{0});
    rig.hear();
    Task& task = rig.make_task({.at = row.timestamp});
    rig.admission.send_held(&task, Cycle{5});
    EXPECT_EQ(rig.state.queue.held(), row.goes ? 0u : 1u) << "timestamp " << row.timestamp;
    EXPECT_EQ(rig.hear().size(), row.goes ? 1u : 0u) << "timestamp " << row.timestamp;
    rig.state.send.remove(0);
    rig.admission.serve_senders(Cycle{9});
    EXPECT_EQ(rig.state.queue.held(), 0u);
    EXPECT_EQ(task.state, TaskState::in_flight);
  }
}

TEST(Admission, SaysWhatWaits) {
  AdmissionRig rig;
  rig.run(1, 2, false);
  rig.fill(6);
  rig.stall(1, {.at = 9});
  std::string text;
  rig.admission.describe_waiting(text);
  EXPECT_EQ(text, "tile 1: core 3 waits for an entry, timestamp 9, its parent committed\n");
}

}  // namespace
}  // namespace rubato::chip
