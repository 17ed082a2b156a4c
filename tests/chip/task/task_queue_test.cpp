// The pairing heap and the task queue against references that search linearly.
// SPDX-License-Identifier: MIT
#include "chip/task/task_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "chip/task/spill_area.hpp"
#include "chip/task/task_mapper.hpp"
#include "chip/task/task_pool.hpp"

namespace rubato::chip {
namespace {

bool earlier_task(const Task* a, const Task* b) { return a->before(*b); }

TEST(TaskHeap, AgreesWithASortedListUnderRandomPushPopMeldAndRemove) {
  Rng rng(1);
  TaskPool pool;
  TaskHeap heaps[2];
  std::vector<Task*> reference[2];
  std::uint64_t tie = 0;
  for (int i = 0; i < 200'000; ++i) {
    const unsigned h = static_cast<unsigned>(rng.below(2));
    auto& list = reference[h];
    switch (rng.below(list.size() > 300 ? 3 : 6)) {
      case 0:
        if (list.empty()) break;
        ASSERT_EQ(heaps[h].top(), *std::min_element(list.begin(), list.end(), earlier_task));
        list.erase(std::find(list.begin(), list.end(), heaps[h].top()));
        pool.release(heaps[h].pop());
        break;
      case 1:
      case 2: {
        if (list.empty()) break;
        Task* task = list[rng.below(list.size())];
        TaskHeap::remove(task);
        list.erase(std::find(list.begin(), list.end(), task));
        pool.release(task);
        break;
      }
      case 3:
        if (rng.below(50) != 0) break;
        heaps[h].meld(heaps[1 - h]);
        list.insert(list.end(), reference[1 - h].begin(), reference[1 - h].end());
        reference[1 - h].clear();
        break;
      default: {
        Task* task = pool.acquire();
        task->order = rng.below(20);
        task->tie = tie++;
        heaps[h].push(task);
        list.push_back(task);
      }
    }
    ASSERT_EQ(heaps[h].empty(), list.empty());
  }
  EXPECT_EQ(pool.in_use(), reference[0].size() + reference[1].size());
}

TEST(TaskQueue, AgreesWithALinearSearchUnderRandomInsertDispatchFinishAndSpill) {
  Rng rng(2);
  TaskPool pool;
  TaskQueue queue(64, 0.75);
  std::vector<Task*> idle, out;
  std::optional<Locale> running[4];
  bool busy[4] = {};
  std::uint64_t tie = 0;
  const auto is_free = [&](const Task* task) {
    return !task->descriptor.has_locale ||
           std::none_of(running, running + 4, [&](auto& l) { return l && *l == task->descriptor.locale; });
  };
  for (int i = 0; i < 100'000; ++i) {
    const Lane lane = rng.below(3) == 0 ? Lane::untimestamped : Lane::timestamped;
    const unsigned slot = static_cast<unsigned>(rng.below(4));
    const std::uint64_t what = rng.below(8);
    if (what < 4) {
      if (!queue.has_room(false, false)) continue;
      Task* task = pool.acquire();
      task->descriptor = TaskDescriptor{};
      task->descriptor.has_timestamp = lane == Lane::timestamped;
      task->descriptor.has_locale = rng.below(4) != 0;
      task->descriptor.locale = rng.below(5);
      task->order = task->descriptor.timestamp = rng.below(10);
      task->tie = tie++;
      queue.insert(task);
      idle.push_back(task);
    } else if (what == 4 && busy[slot]) {
      queue.finish(slot);
      busy[slot] = false;
      running[slot].reset();
    } else if (what < 7 && !busy[slot]) {
      Task* expected = nullptr;
      for (Task* task : idle) {
        if (task->lane() != lane || !is_free(task)) continue;
        if (expected == nullptr || task->before(*expected)) expected = task;
      }
      ASSERT_EQ(queue.earliest_free(lane), expected);
      if (expected == nullptr) continue;
      queue.dispatch(expected, slot, false);
      busy[slot] = true;
      if (expected->descriptor.has_locale) running[slot] = expected->descriptor.locale;
      idle.erase(std::find(idle.begin(), idle.end(), expected));
      pool.release(expected);
    } else if (rng.below(20) == 0 && queue.idle(lane) > 3) {
      const auto count = static_cast<std::uint32_t>(1 + rng.below(queue.idle(lane)));
      queue.take_latest(lane, count, out);
      ASSERT_TRUE(std::is_sorted(out.begin(), out.end(), earlier_task));
      for (Task* task : out) {
        idle.erase(std::find(idle.begin(), idle.end(), task));
        queue.release_spilling();
      }
      for (const Task* task : idle) {
        if (task->lane() == lane) {
          ASSERT_TRUE(task->before(*out.front()));
        }
      }
      for (Task* task : out) pool.release(task);
    }
    const Task* first = nullptr;
    for (const Task* task : idle) {
      if (task->lane() == lane && (first == nullptr || task->before(*first))) first = task;
    }
    ASSERT_EQ(queue.earliest(lane), first);
    ASSERT_EQ(queue.guests(), idle.size());
  }
}

TEST(TaskQueue, KeepsOneEntryForRefillsAndOneForTheEarliestTask) {
  TaskPool pool;
  TaskQueue queue(4, 0.75);
  const auto insert = [&] {
    Task* task = pool.acquire();
    task->descriptor = TaskDescriptor{};
    queue.insert(task);
  };
  insert();
  EXPECT_TRUE(queue.has_room(false, false));
  insert();
  EXPECT_FALSE(queue.has_room(false, false));
  EXPECT_TRUE(queue.has_room(true, false));
  insert();
  EXPECT_FALSE(queue.has_room(true, false));
  queue.add_refill();  // takes the entry that was kept for it
  EXPECT_EQ(queue.entries(), 4u);
  EXPECT_EQ(queue.used(), 4u);
}

TEST(TaskQueue, ATaskSetAsideHidesNobodyUntilItIsRecalled) {
  TaskPool pool;
  TaskQueue queue(16, 0.75);
  std::vector<Task*> tasks;
  for (std::uint64_t tie = 0; tie < 4; ++tie) {
    Task* task = pool.acquire();
    task->descriptor = TaskDescriptor{};
    task->descriptor.type = TaskType::spec;
    task->descriptor.has_locale = tie < 3;
    task->descriptor.locale = 1;
    task->tie = tie;
    queue.insert(task);
    tasks.push_back(task);
  }
  constexpr Lane kLane = Lane::untimestamped;
  // Tasks 1 and 2 wait for the task of their locale that runs; then task 2 follows when task 1 is set aside.
  queue.dispatch(queue.earliest_free(kLane), 0, false);
  ASSERT_EQ(queue.earliest_free(kLane), tasks[3]);
  queue.finish(0);
  ASSERT_EQ(queue.earliest_free(kLane), tasks[1]);
  queue.set_aside(tasks[1]);
  EXPECT_EQ(queue.earliest_free(kLane), tasks[2]);
  EXPECT_EQ(queue.earliest(kLane), tasks[2]);
  EXPECT_EQ(queue.earliest_aside(), tasks[1]);
  queue.set_aside(tasks[2]);
  EXPECT_EQ(queue.earliest_free(kLane), tasks[3]);
  EXPECT_EQ(queue.guests(), 3u);
  queue.recall();
  EXPECT_EQ(queue.earliest_free(kLane), tasks[1]);
  EXPECT_EQ(queue.earliest_aside(), nullptr);

  queue.set_aside(tasks[1]);
  std::vector<Task*> out;
  queue.take_latest(kLane, 3, out);
  EXPECT_EQ(out, (std::vector<Task*>{tasks[1], tasks[2], tasks[3]}));
  EXPECT_EQ(queue.earliest_aside(), nullptr);
  queue.recall();
  EXPECT_EQ(queue.earliest_free(kLane), nullptr);
}

TEST(SpillArea, ReservesWhatABatchNeedsNotWhatItMayHold) {
  constexpr std::uint64_t kLines = 8 * 100;  // seven eighths for batches
  SpillArea area(1 << 20, kLines * 64, 1024);
  const std::uint32_t first = area.open_batch(3);
  for (int i = 1; i < 43; ++i) area.open_batch(3);  // 16 lines each
  EXPECT_THROW(area.open_batch(17), Error);
  EXPECT_THROW(area.open_batch(3), Error);
  area.close_batch(first);
  EXPECT_EQ(area.line(area.open_batch(16), 0), LineAddr{(1 << 20) / 64}) << "used again";
}

TEST(SpillArea, PacksDescriptorsAndSaysWhichLinesHoldThem) {
  SpillArea area(1 << 20, 1 << 16, 15);
  TaskPool pool;
  Rng rng(9);
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t batch = area.open_batch(15);
    std::vector<std::pair<Task*, std::uint32_t>> reference;  // and where it ends
    std::uint32_t bytes = 0;
    const bool is_fullest = round == 0;  // a line for each of 15 tasks
    for (std::uint64_t i = is_fullest ? 15 : 1 + rng.below(15); i != 0; --i) {
      Task* task = pool.acquire();
      task->descriptor.has_timestamp = is_fullest || rng.below(2) == 0;
      task->descriptor.has_locale = is_fullest || rng.below(2) == 0;
      task->descriptor.argument_count = static_cast<std::uint8_t>(is_fullest ? 5 : rng.below(6));
      bytes += 8u + (task->descriptor.has_timestamp ? 8 : 0) + (task->descriptor.has_locale ? 8 : 0) +
               8u * task->descriptor.argument_count;
      area.append(batch, task);
      reference.emplace_back(task, bytes);
      ASSERT_EQ(area.full_lines(batch), bytes / 64);
      ASSERT_EQ(area.written_lines(batch), (bytes + 63) / 64);
    }
    std::uint32_t begin = 0;
    for (const auto& [task, end] : reference) {
      ASSERT_EQ(area.first_line_left(batch), begin / 64);
      ASSERT_EQ(area.lines_left(batch), (bytes + 63) / 64 - begin / 64);
      ASSERT_EQ(area.lines_of_front(batch), (end - 1) / 64 - begin / 64 + 1);
      ASSERT_EQ(area.take_front(batch), task);
      pool.release(task);
      begin = end;
    }
    EXPECT_EQ(area.size(batch), 0U);
    area.close_batch(batch);
  }
}

TEST(SpillArea, OverflowListReturnsRefillsInOrderAndStaysInItsMemory) {
  constexpr Addr kBase = 1 << 20;
  constexpr std::uint64_t kBytes = 1 << 16;
  SpillArea area(kBase, kBytes, 15);
  TaskPool pool;
  Rng rng(4);
  std::vector<LineAddr> lines;
  std::vector<Task*> reference;
  for (std::uint64_t i = 0; i < 400; ++i) {
    Task* task = pool.acquire();
    task->descriptor.has_timestamp = true;
    task->order = rng.below(50);
    task->tie = i;
    area.overflow_push(task, lines);
    reference.push_back(task);
  }
  std::sort(reference.begin(), reference.end(), [](auto* a, auto* b) { return a->before(*b); });
  for (Task* expected : reference) ASSERT_EQ(area.overflow_pop(lines), expected);
  for (const LineAddr line : lines) {
    ASSERT_GE(addr_of(line), kBase + kBytes / 8 * 7);
    ASSERT_LT(addr_of(line), kBase + kBytes);
  }
}

TEST(HashTaskMapper, SendsOneLocaleToOneTileWhoeverCreatesTheTask) {
  HashTaskMapper mapper({.tiles = 64, .seed = 1});
  for (Locale locale = 0; locale < 1000; ++locale) {
    TaskDescriptor task;
    task.has_locale = true;
    task.locale = locale;
    const TileId tile = mapper.map(task, TileId{0});
    EXPECT_LT(tile.value, 64u);
    for (std::uint32_t creator = 1; creator < 64; creator += 13) {
      EXPECT_EQ(mapper.map(task, TileId{creator}), tile);
    }
  }
}

TEST(HashTaskMapper, SendsTasksWithAPlaceToTheTileOfThatCoreModuloTheChips) {
  HashTaskMapper mapper({.tiles = 6, .cores_per_tile = 4, .seed = 1}), scattered({.tiles = 6, .seed = 1});
  for (std::uint32_t place = 0; place < 100; ++place) {
    TaskDescriptor task;
    task.has_place = true;
    task.locale = place;
    EXPECT_EQ(mapper.map(task, TileId{place % 6}), TileId{place % 24 / 4}) << place;
    EXPECT_EQ(mapper.map({}, TileId{0}), scattered.map({}, TileId{0}))
        << "others go where they went without it";
  }
}

TEST(HashTaskMapper, ScattersTasksWithoutLocaleEvenlyAndRepeatably) {
  HashTaskMapper a({.tiles = 16, .seed = 1}), b({.tiles = 16, .seed = 1}), c({.tiles = 16, .seed = 2});
  std::vector<unsigned> count(16);
  unsigned differences = 0;
  for (int i = 0; i < 16'000; ++i) {
    const TileId tile = a.map({}, TileId{0});
    ++count[tile.value];
    EXPECT_EQ(b.map({}, TileId{3}), tile);
    differences += c.map({}, TileId{0}) != tile ? 1 : 0;
  }
  for (const unsigned n : count) {
    EXPECT_GT(n, 850u);
    EXPECT_LT(n, 1150u);
  }
  EXPECT_GT(differences, 14'000u);
}

TEST(RandomTaskMapper, KeepsLocalesTogetherForTasksThatMayRunNonSpeculatively) {
  const auto mapper = make_task_mapper("random", {.tiles = 16, .seed = 1});
  HashTaskMapper hash({.tiles = 16, .seed = 1});
  unsigned elsewhere = 0;
  for (Locale locale = 0; locale < 1000; ++locale) {
    TaskDescriptor task;
    task.has_locale = true;
    task.locale = locale;
    task.type = TaskType::mayspec;
    EXPECT_EQ(mapper->map(task, TileId{0}), hash.map(task, TileId{0}));
    task.type = TaskType::spec;
    elsewhere += mapper->map(task, TileId{0}) != hash.map(task, TileId{0}) ? 1 : 0;
  }
  EXPECT_GT(elsewhere, 800u);
}

// Tasks as the task unit moves them under speculation, against a model that counts entries one by one.
TEST(TaskQueue, CountsEntriesOfHeldActiveAndUncommittedTasks) {
  Rng rng(9);
  TaskPool pool;
  TaskQueue queue(40, 0.75);
  Task parent;
  struct Entry {
    Task* task;
    enum { idle, held, active } where;
  };
  std::vector<Entry> entries;
  std::uint64_t tie = 1;
  const auto uncommitted = [&] {
    return std::count_if(entries.begin(), entries.end(),
                         [](const Entry& e) { return e.task->uncommitted_parent != nullptr; });
  };
  const auto remove = [&](std::size_t i) {
    pool.release(entries[i].task);
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));
  };
  int discarded = 0, spilled = 0, reinserted = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t what = rng.below(8);
    const std::size_t pick = entries.empty() ? 0 : rng.below(entries.size());
    if (what < 3) {
      const bool is_child = rng.below(2) == 0;
      ASSERT_EQ(queue.has_room(false, is_child),
                entries.size() + 1 < 39 && (!is_child || uncommitted() < 30));
      if (!queue.has_room(false, is_child)) continue;
      Task* task = pool.acquire();
      task->descriptor = TaskDescriptor{};
      task->descriptor.has_timestamp = rng.below(2) == 0;
      task->descriptor.type = rng.below(3) == 0 ? TaskType::nonspec : TaskType::spec;
      task->descriptor.has_locale = rng.below(2) == 0;
      task->descriptor.locale = rng.below(6);
      task->order = task->descriptor.timestamp = rng.below(10);
      task->tie = tie++;
      task->uncommitted_parent = is_child ? &parent : nullptr;
      const bool held = is_child && task->descriptor.type == TaskType::nonspec;
      held ? queue.hold(task) : queue.insert(task);
      entries.push_back({task, held ? Entry::held : Entry::idle});
    } else if (entries.empty()) {
      continue;
    } else if (Entry& e = entries[pick]; what == 3 && e.task->uncommitted_parent != nullptr) {
      if (e.where == Entry::held) {
        queue.unhold(e.task);
        e.task->uncommitted_parent = nullptr;
        queue.insert(e.task);
        e.where = Entry::idle;
      } else {
        queue.parent_committed(*e.task);
        e.task->uncommitted_parent = nullptr;
      }
    } else if (what == 4 && e.task->uncommitted_parent != nullptr && e.where != Entry::active) {
      e.where == Entry::held ? queue.unhold(e.task) : queue.discard(e.task);
      remove(pick);
      ++discarded;
    } else if (what == 5) {
      const Lane lane = kAllLanes[rng.below(kLanes)];
      Task* task = queue.earliest_free(lane);
      if (task == nullptr) continue;
      queue.dispatch(task, 0, true);
      task->state = TaskState::running;
      queue.finish(0);
      std::find_if(entries.begin(), entries.end(), [&](const Entry& x) { return x.task == task; })->where =
          Entry::active;
    } else if (what == 6 && e.where == Entry::active) {
      if (rng.below(2) == 0) {
        queue.reinsert(e.task);
        e.where = Entry::idle;
        ++reinserted;
      } else {
        queue.release_active(*e.task);
        e.task->state = TaskState::finished;
        remove(pick);
      }
    } else if (what == 7 && queue.spillable(e.task->lane()) > 2) {
      std::vector<Task*> out;
      queue.take_latest(e.task->lane(), 2, out);
      for (Task* task : out) {
        ASSERT_EQ(task->uncommitted_parent, nullptr);
        queue.release_spilling();
        remove(static_cast<std::size_t>(
            std::find_if(entries.begin(), entries.end(), [&](const Entry& x) { return x.task == task; }) -
            entries.begin()));
        ++spilled;
      }
    }
    const auto count = [&](auto where) {
      return std::count_if(entries.begin(), entries.end(), [&](const Entry& x) { return x.where == where; });
    };
    ASSERT_EQ(queue.entries(), entries.size());
    ASSERT_EQ(queue.uncommitted(), uncommitted());
    ASSERT_EQ(queue.guests(), count(Entry::idle));
    ASSERT_EQ(queue.held(), count(Entry::held));
    ASSERT_EQ(queue.active(), count(Entry::active));
    ASSERT_EQ(queue.spillable(), std::count_if(entries.begin(), entries.end(), [](const Entry& x) {
                return x.where == Entry::idle && x.task->uncommitted_parent == nullptr;
              }));
  }
  EXPECT_GT(std::min({discarded, spilled, reinserted}), 100);
}

}  // namespace
}  // namespace rubato::chip
