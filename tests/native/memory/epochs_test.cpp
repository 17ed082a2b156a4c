// R7: nothing is freed while a running or pending task can reach it, in every short interleaving;
// garbage is bounded; the mutants (early free, no birth epoch) are caught.
// SPDX-License-Identifier: MIT
#include "native/memory/epochs.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tests/native/memory/epoch_model.hpp"

namespace {

using rubato::engine::kBirthWindow;
using rubato::native::EpochMember;
using rubato::native::EpochRules;
using rubato::native::Epochs;
using rubato::native::ResourceHeader;
using rubato::native::test::EpochModel;

struct FreesEarly : EpochRules {
  static constexpr bool kWaitsForEarlierEpochOnly = false;
};
struct NoBirthEpoch : EpochRules {
  static constexpr bool kCountsBirths = false;
};
struct NoLocalEpoch : EpochRules {
  static constexpr bool kWaitsForLocals = false;
};

struct Move {
  unsigned worker;
  unsigned step;
};

/// Depth-first over all sequences of `depth` allowed steps of `workers`. True: one of them frees too early.
template <class Rules>
bool some_sequence_violates(unsigned workers, unsigned depth, std::uint64_t* sequences = nullptr) {
  using Model = EpochModel<Rules>;
  std::vector<Move> path;
  const auto next = [&](Move move) -> Move {
    return ++move.step < Model::kSteps ? move : Move{move.worker + 1, 0};
  };
  for (;;) {
    // Replay the prefix, then go on with the first allowed step at each depth.
    auto model = std::make_unique<Model>(workers, 1);
    for (const Move move : path) model->take_step(move.worker, static_cast<typename Model::Step>(move.step));
    const auto first_allowed = [&](Move move) {
      while (move.worker < workers &&
             !model->allows(move.worker, static_cast<typename Model::Step>(move.step))) {
        move = next(move);
      }
      return move;
    };
    while (path.size() < depth && !model->is_violated()) {
      path.push_back(first_allowed({0, 0}));
      model->take_step(path.back().worker, static_cast<typename Model::Step>(path.back().step));
    }
    if (sequences != nullptr) ++*sequences;
    if (model->is_violated()) return true;
    // Backtrack: the next allowed step somewhere up the path.
    for (;;) {
      if (path.empty()) return false;
      const Move last = path.back();
      path.pop_back();
      model = std::make_unique<Model>(workers, 1);
      for (const Move move : path)
        model->take_step(move.worker, static_cast<typename Model::Step>(move.step));
      const Move other = first_allowed(next(last));
      if (other.worker == workers) continue;
      path.push_back(other);
      break;
    }
  }
}

/// Random walks: long, and with the epoch going round its window many times. True: one of them frees too
/// early.
template <class Rules>
bool some_walk_violates(unsigned workers, unsigned walks, unsigned length) {
  using Model = EpochModel<Rules>;
  for (unsigned seed = 0; seed < walks; ++seed) {
    std::minstd_rand engine(seed + 1);
    const auto random = [&] { return static_cast<unsigned>(engine() >> 8); };
    Model model(workers, 1 + seed % 5);
    for (unsigned i = 0; i < length; ++i) {
      const unsigned worker = random() % workers;
      const auto step = static_cast<typename Model::Step>(random() % Model::kSteps);
      if (model.allows(worker, step)) model.take_step(worker, step);
      if (model.is_violated()) return true;
    }
  }
  return false;
}

TEST(Epochs, FreeNothingInUseInAnyShortInterleavingOfTwoWorkers) {
  std::uint64_t sequences = 0;
  EXPECT_FALSE(some_sequence_violates<EpochRules>(2, 8, &sequences));
  EXPECT_GT(sequences, 10'000u);
}
TEST(Epochs, FreeNothingInUseInAnyShortInterleavingOfThreeWorkers) {
  EXPECT_FALSE(some_sequence_violates<EpochRules>(3, 6));
}
TEST(Epochs, FreeNothingInUseInLongRandomWalks) {
  EXPECT_FALSE(some_walk_violates<EpochRules>(2, 300, 2'000));
  EXPECT_FALSE(some_walk_violates<EpochRules>(4, 300, 2'000));
}

TEST(Epochs, MutantThatFreesEarlyIsCaught) { EXPECT_TRUE(some_sequence_violates<FreesEarly>(2, 8)); }
TEST(Epochs, MutantWithoutBirthEpochIsCaught) { EXPECT_TRUE(some_sequence_violates<NoBirthEpoch>(2, 8)); }
TEST(Epochs, MutantWithoutLocalEpochsIsCaught) { EXPECT_TRUE(some_sequence_violates<NoLocalEpoch>(2, 8)); }

TEST(Epochs, ReclaimEverythingAFewRefreshesAfterAllTasksAreDone) {
  using Model = EpochModel<EpochRules>;
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::minstd_rand engine(seed + 1);
    const auto random = [&] { return static_cast<unsigned>(engine() >> 8); };
    Model model(3, 4);
    for (unsigned i = 0; i < 500; ++i) {
      const unsigned worker = random() % 3;
      const auto step = static_cast<Model::Step>(random() % Model::kSteps);
      if (model.allows(worker, step)) model.take_step(worker, step);
    }
    EXPECT_EQ(model.unreclaimed_after(4), 0u) << "seed " << seed;
  }
}

struct Counted {
  ResourceHeader header;
  int* freed;
};
Counted* make_counted(int* freed) {
  auto* const object = std::make_unique<Counted>().release();
  object->freed = freed;
  object->header.bytes = sizeof(Counted);
  object->header.destroy = [](ResourceHeader* header) {
    const std::unique_ptr<Counted> owner(reinterpret_cast<Counted*>(header));
    ++*owner->freed;
  };
  return object;
}

TEST(Epochs, DoNotAdvanceWithoutGarbage) {
  Epochs epochs({.members = 1});
  epochs.unpark(epochs.member(0));
  const std::uint64_t before = epochs.global();
  for (int i = 0; i < 1'000; ++i) epochs.refresh(epochs.member(0));
  EXPECT_EQ(epochs.global(), before);
}

TEST(Epochs, AParkedMemberHoldsNothingBack) {
  int freed = 0;
  Epochs epochs({.members = 2});
  EpochMember& self = epochs.member(0);
  EpochMember& other = epochs.member(1);
  epochs.unpark(self);
  epochs.unpark(other);
  epochs.retire(self, &make_counted(&freed)->header);
  for (int i = 0; i < 5; ++i) epochs.refresh(self);
  EXPECT_EQ(freed, 0) << "the other member is still in the epoch of the removal";
  epochs.park(other);
  for (int i = 0; i < 2; ++i) epochs.refresh(self);
  EXPECT_EQ(freed, 1);
}

TEST(Epochs, TheLastMemberToParkFreesItsGarbage) {
  int freed = 0;
  Epochs epochs({.members = 2});
  epochs.unpark(epochs.member(0));
  epochs.retire(epochs.member(0), &make_counted(&freed)->header);
  epochs.park(epochs.member(0));
  EXPECT_EQ(freed, 1);
}

TEST(Epochs, AMemberThatParksLeavesItsGarbageToTheOthers) {
  int freed = 0;
  Epochs epochs({.members = 2});
  epochs.unpark(epochs.member(0));
  epochs.unpark(epochs.member(1));
  epochs.retire(epochs.member(0), &make_counted(&freed)->header);
  epochs.park(epochs.member(0));
  EXPECT_EQ(freed, 0);
  EXPECT_EQ(epochs.unreclaimed_bytes(), sizeof(Counted));
  for (int i = 0; i < 3; ++i) epochs.refresh(epochs.member(1));
  EXPECT_EQ(freed, 1);
  EXPECT_EQ(epochs.unreclaimed_bytes(), 0u);
}

// Both sides of the window: a pending task stops the epoch kBirthWindow - 1 after its birth, and only it
// does.
TEST(Epochs, WaitForTheOldestPendingTaskBeforeItsSlotIsUsedAgain) {
  int freed = 0;
  Epochs epochs({.members = 1});
  EpochMember& self = epochs.member(0);
  epochs.unpark(self);
  const std::uint64_t birth = epochs.global();
  const unsigned slot = self.birth_slot();
  self.count_created(slot);
  for (unsigned i = 0; i < 5 * kBirthWindow; ++i) {
    epochs.retire(self, &make_counted(&freed)->header);
    epochs.refresh(self);
  }
  EXPECT_EQ(epochs.global(), birth + kBirthWindow - 1);
  EXPECT_EQ(freed, 0);
  self.count_finished(slot);
  for (unsigned i = 0; i < 4; ++i) epochs.refresh(self);
  EXPECT_GE(epochs.global(), birth + kBirthWindow);
  EXPECT_EQ(freed, 5 * static_cast<int>(kBirthWindow));
}

TEST(Epochs, FreeWhatDestructorsRemove) {
  struct Chained {
    Counted counted;
    Epochs* epochs;
    Chained* next;
  };
  int freed = 0;
  Epochs epochs({.members = 1});
  EpochMember& self = epochs.member(0);
  std::array<Chained, 3> chain{};
  for (std::size_t i = 0; i < chain.size(); ++i) {
    chain[i].counted.freed = &freed;
    chain[i].epochs = &epochs;
    chain[i].next = i + 1 < chain.size() ? &chain[i + 1] : nullptr;
    chain[i].counted.header.destroy = [](ResourceHeader* header) {
      auto* const object = reinterpret_cast<Chained*>(header);
      ++*object->counted.freed;
      if (object->next != nullptr) {
        object->epochs->retire(object->epochs->member(0), &object->next->counted.header);
      }
    };
  }
  epochs.unpark(self);
  epochs.retire(self, &chain[0].counted.header);
  for (int i = 0; i < 10; ++i) epochs.refresh(self);
  EXPECT_EQ(freed, 3);
  epochs.retire(self, &chain[0].counted.header);
  epochs.quiesce();
  EXPECT_EQ(freed, 6);
}

// Real threads read objects through links that others change; a freed object's canary is gone.
TEST(EpochsStress, HoldFromTwoToEightThreads) {
  constexpr std::uint64_t kAlive = 0x5eed5eed;
  struct Object {
    ResourceHeader header;
    std::atomic<std::uint64_t> canary{kAlive};
  };
  const auto make = [] {
    auto* const object = std::make_unique<Object>().release();
    object->header.bytes = sizeof(Object);
    object->header.destroy = [](ResourceHeader* header) {
      const std::unique_ptr<Object> owner(reinterpret_cast<Object*>(header));
      owner->canary.store(0, std::memory_order_relaxed);
    };
    return object;
  };
  for (const unsigned threads : {2u, 4u, 8u}) {
    for (const unsigned batch : {1u, 50u}) {
      Epochs epochs({.members = threads, .refreshes_a_look = batch == 1 ? 32u : 1u});
      std::array<std::atomic<Object*>, 64> links{};
      for (auto& link : links) link = make();
      std::atomic<std::uint64_t> wrong{0};
      std::barrier start(threads);
      std::vector<std::thread> crew;
      for (unsigned t = 0; t < threads; ++t) {
        crew.emplace_back([&, t] {
          EpochMember& self = epochs.member(t);
          std::minstd_rand engine(t + 1);
          const auto random = [&] { return static_cast<unsigned>(engine() >> 8); };
          start.arrive_and_wait();
          epochs.unpark(self);
          for (unsigned i = 0; i < 20'000; ++i) {
            auto& link = links[random() % links.size()];
            if (i % 8 == 0) {
              Object* const fresh = make();
              epochs.retire(self, &link.exchange(fresh, std::memory_order_acq_rel)->header);
            } else {
              Object* const object = link.load(std::memory_order_acquire);
              if (i % 512 == 1) std::this_thread::yield();
              wrong += object->canary.load(std::memory_order_relaxed) != kAlive;
            }
            if (i % batch == 0) epochs.refresh(self);
            if (i % 1024 == 0) {
              epochs.park(self);
              std::this_thread::yield();
              epochs.unpark(self);
            }
          }
          epochs.park(self);
        });
      }
      for (std::thread& thread : crew) thread.join();
      EXPECT_EQ(wrong.load(), 0u);
      epochs.quiesce();
      EXPECT_EQ(epochs.unreclaimed_bytes(), 0u);
      for (auto& link : links) link.load()->header.destroy(&link.load()->header);
    }
  }
}

// Churn with requests that overlap: each removes an object; at any time 500 annotated tasks are pending.
TEST(Epochs, BoundGarbageUnderChurn) {
  int freed = 0;
  Epochs epochs({.members = 2});
  epochs.unpark(epochs.member(0));
  epochs.unpark(epochs.member(1));
  std::vector<unsigned> in_flight;
  std::uint64_t most = 0;
  constexpr unsigned kRequests = 100'000;
  for (unsigned i = 0; i < kRequests; ++i) {
    EpochMember& creator = epochs.member(i % 2);
    EpochMember& runner = epochs.member(i / 2 % 2);
    in_flight.push_back(creator.birth_slot());
    creator.count_created(in_flight.back());
    if (in_flight.size() > 500) {
      runner.count_finished(in_flight[in_flight.size() - 501]);
      epochs.retire(runner, &make_counted(&freed)->header);
    }
    epochs.refresh(creator);
    epochs.refresh(runner);
    most = std::max(most, epochs.unreclaimed_bytes());
  }
  // An object waits for the tasks that were pending when it was removed, at most 500 requests, in whole
  // epochs.
  EXPECT_LE(most, 2'000 * sizeof(Counted));
  EXPECT_GT(freed, static_cast<int>(kRequests) - 2'500);
}

}  // namespace
