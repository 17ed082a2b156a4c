// A worker's private lists (R2, R5), what is due beside them, and its CPU (R3, R10).
// SPDX-License-Identifier: MIT
#include "native/worker/private_tasks.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <deque>
#include <vector>

#include "native/worker/cpu_binding.hpp"
#include "native/worker/duties.hpp"

namespace {

using rubato::Priority;
using rubato::engine::Task;
using rubato::engine::TaskList;
using namespace rubato::native;
namespace handle = rubato::engine::handle;

class PrivateTasksTest : public testing::Test {
 protected:
  Task* make(Priority priority = Priority::normal) {
    Task& task = made.emplace_back();
    task.code = &code;
    task.handle = std::uint64_t{static_cast<std::uint8_t>(priority)} << handle::kPriorityShift;
    task.words[0] = made.size() - 1;
    return &task;
  }
  /// As create() does.
  void link(Task* task) {
    created.append(task);
    count.fetch_add(1);
  }
  std::vector<std::uint64_t> in_ring() {
    std::vector<std::uint64_t> numbers;
    while (!ring.is_empty()) numbers.push_back(ring.pop().task()->words[0]);
    return numbers;
  }

  rubato::engine::TaskCode code{nullptr, nullptr, nullptr, false, true, 0, rubato::engine::kNoPointer};
  std::deque<Task> made;
  TaskList created;
  std::atomic<std::uint64_t> count{0};
  Ring ring;
  PrivateTasks lists{created, count};
};

TEST_F(PrivateTasksTest, CountsWhatWaitsHoweverItCameAndWent) {
  link(make());
  link(make());
  lists.append(make(), false);
  EXPECT_EQ(lists.size(), 3u);
  lists.take_own(ring, 2);
  EXPECT_EQ(lists.size(), 1u);
  EXPECT_EQ(in_ring(), (std::vector<std::uint64_t>{0, 1}));
  const Chain chain = lists.take_oldest(5);
  EXPECT_EQ(chain.size, 1u);
  EXPECT_EQ(lists.size(), 0u);
  lists.put_back(chain);
  EXPECT_EQ(lists.size(), 1u);
  EXPECT_EQ(lists.taken(), 3u);
  lists.count_all_taken();
  EXPECT_EQ(lists.size(), 0u);
}

TEST_F(PrivateTasksTest, PutsOneBackInFrontOfItsPriority) {
  for (const Priority priority : {Priority::high, Priority::normal, Priority::low}) {
    Task* const first = make(priority);
    lists.append(make(priority), false);
    lists.put_back(first);
  }
  lists.take_from_list(ring, Source::kPrivate, 0, 9);
  lists.take_own(ring, 9);
  lists.take_from_list(ring, Source::kPrivate, 2, 9);
  EXPECT_EQ(in_ring(), (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(lists.is_empty());
}

TEST_F(PrivateTasksTest, TakesTheOnlyTaskAndNoOther) {
  EXPECT_EQ(lists.take_only(), nullptr);
  Task* const only = make();
  link(only);
  EXPECT_EQ(lists.take_only(), only);
  EXPECT_EQ(lists.size(), 0u);
  link(make());
  link(make());
  EXPECT_EQ(lists.take_only(), nullptr);
  EXPECT_EQ(lists.size(), 2u);
}

TEST_F(PrivateTasksTest, ShowsEachSourceThatHasTasks) {
  Waiting none;
  lists.look(none);
  for (unsigned rank = 0; rank < kPriorities; ++rank) EXPECT_EQ(none.of(rank), 0u);
  lists.append(make(Priority::high), false);
  lists.append(make(), true);
  lists.now().append(make());
  lists.now().append(make(Priority::low));
  Waiting found;
  lists.look(found);
  EXPECT_EQ(found.of(0), Source::kPrivate);
  EXPECT_EQ(found.of(1), Source::kPrivate | Source::kCurrent);
  EXPECT_EQ(found.of(2), Source::kCurrent);
  EXPECT_FALSE(lists.has_only_own());
  std::uint64_t dropped = 0;
  lists.drop_all([&](Task*) { ++dropped; });
  EXPECT_EQ(dropped, 4u);
  EXPECT_TRUE(lists.is_empty());
}

TEST(Duties, AreDueUntilTheyAreTaken) {
  Duties duties;
  EXPECT_TRUE(duties.is_due(Duties::kShare)) << "unknown tasks may be worth it";
  duties.set(Duties::kShare, false);
  EXPECT_FALSE(duties.are_due());
  duties.set(Duties::kRest, true);
  EXPECT_TRUE(duties.are_due());
  EXPECT_FALSE(duties.take(Duties::kEmptyInbox));
  EXPECT_TRUE(duties.take(Duties::kRest));
  EXPECT_FALSE(duties.take(Duties::kRest));
}

TEST(CpuBinding, IsBoundBesideOthersAndFreeAlone) {
  const Topology machine = this_machine();
  const AffinityScope restored(machine.allowed);
  const std::vector<unsigned> all = current_affinity();
  CpuBinding cpu(machine, 0);
  cpu.begin_bound(true);
  ASSERT_TRUE(cpu.is_bound());
  EXPECT_EQ(current_affinity(), std::vector<unsigned>{machine.allowed[0].cpu});
  cpu.leave();
  EXPECT_FALSE(cpu.is_bound());
  EXPECT_EQ(current_affinity(), all);
  const std::uint64_t begin = ticks();
  while (ticks() - begin <= ticks_of(policy::kChoiceMicroseconds)) {
  }
  cpu.choose([] { return true; });
  EXPECT_FALSE(cpu.is_bound());
  cpu.choose([] { return false; });
  EXPECT_TRUE(cpu.is_bound());
  cpu.end();
  cpu.leave();
  EXPECT_EQ(current_affinity().size(), 1u) << "one without a CPU of its own is left as it is";
}

}  // namespace
