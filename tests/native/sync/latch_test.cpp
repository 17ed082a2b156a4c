// R4, latches: mutual exclusion in every interleaving of a few threads, and under stress of real ones.
// SPDX-License-Identifier: MIT
#include "native/sync/latch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "native/pool/atomics.hpp"
#include "native/sync/shared_latch.hpp"
#include "tests/base/explorer.hpp"

namespace {

using namespace rubato::native;
using rubato::native::StdAtomics;
using rubato::test::ExploredAtomics;
using rubato::test::Explorer;
using Explored = ExploredAtomics::atomic<std::uint64_t>;

/// Threads that are inside, checked at every entry.
struct Room {
  int readers = 0;
  int writers = 0;
  int entries = 0;
  bool is_violated = false;

  void enter(bool reads) {
    ++(reads ? readers : writers);
    ++entries;
    is_violated |= writers > 1 || (writers == 1 && readers > 0);
    Explorer::step();
    --(reads ? readers : writers);
  }
};

TEST(Latch, ExcludesInEveryInterleavingOfThree) {
  auto word = std::make_unique<Explored>();
  auto room = std::make_unique<Room>();
  int entries = 0;
  const auto body = [&] {
    Latch<ExploredAtomics> latch(*word);
    if (!latch.lock(1)) return;
    room->enter(false);
    latch.unlock();
  };
  const std::uint64_t schedules = Explorer::explore(
      [&] {
        word = std::make_unique<Explored>();
        room = std::make_unique<Room>();
        return Explorer::Bodies{body, body, body};
      },
      [&] {
        ASSERT_FALSE(room->is_violated);
        ASSERT_GE(room->entries, 1);
        ASSERT_EQ(word->now(), 0u);
        entries = std::max(entries, room->entries);
      });
  EXPECT_GT(schedules, 100u);
  EXPECT_EQ(entries, 3) << "some schedule lets all in, one after the other";
}

TEST(Latch, GivesUpAfterItsTries) {
  Explored word{1};
  EXPECT_FALSE(Latch<ExploredAtomics>(word).lock(3));
  EXPECT_EQ(word.now(), 1u);
}

constexpr std::uint64_t kInsists = 8;    // here a writer gives up nevertheless
constexpr std::uint64_t kHints = 2 | 4;  // in the word of a SharedLatch: of threads that may come back

TEST(SharedLatch, ExcludesInEveryInterleavingOfTwoReadersAndAWriter) {
  auto word = std::make_unique<Explored>();
  auto room = std::make_unique<Room>();
  int most_readers = 0;
  const auto leave = [&] {
    most_readers = std::max(most_readers, room->readers);
    --room->readers;
    SharedLatch<ExploredAtomics>(*word).unlock_shared();
  };
  const auto enter = [&] {
    ++room->readers;
    room->is_violated |= room->writers > 0;
    Explorer::step();
  };
  const auto patient = [&] {
    if (!SharedLatch<ExploredAtomics>(*word).lock_shared(1)) return;
    enter();
    leave();
  };
  const auto hasty = [&] {
    if (!SharedLatch<ExploredAtomics>(*word).try_lock_shared()) return;
    enter();
    leave();
  };
  const auto writer = [&] {
    SharedLatch<ExploredAtomics> latch(*word);
    if (!latch.lock(1) && !(latch.must_insist() && latch.insist(1))) return;
    room->enter(false);
    latch.unlock();
  };
  for (const std::function<void()>& first : {std::function<void()>(hasty), std::function<void()>()}) {
    Explorer::explore(
        [&] {
          word = std::make_unique<Explored>();
          room = std::make_unique<Room>();
          if (!first) return Explorer::Bodies{patient, writer};
          return Explorer::Bodies{first, writer, hasty};
        },
        [&] {
          ASSERT_FALSE(room->is_violated);
          ASSERT_EQ(word->now() & ~(kHints | kInsists), 0u) << "nobody is inside at the end";
        });
  }
  EXPECT_EQ(most_readers, 2);
}

TEST(SharedLatch, AdmitsReadersTogetherAndWritersAlone) {
  Explored word;
  SharedLatch<ExploredAtomics> latch(word);
  EXPECT_TRUE(latch.try_lock_shared());
  EXPECT_TRUE(latch.try_lock_shared());
  EXPECT_FALSE(latch.try_lock());
  latch.unlock_shared();
  latch.unlock_shared();
  EXPECT_TRUE(latch.try_lock());
  EXPECT_FALSE(latch.try_lock());
  EXPECT_FALSE(latch.try_lock_shared());
  latch.unlock();
  EXPECT_EQ(word.now(), 0u);
}

TEST(SharedLatch, KeepsNewReadersOutWhileAWriterWaits) {
  Explored word;
  SharedLatch<ExploredAtomics> latch(word);
  ASSERT_TRUE(latch.try_lock_shared());
  EXPECT_FALSE(latch.lock(2));
  EXPECT_FALSE(latch.try_lock_shared()) << "a reader after the waiting writer";
  latch.unlock_shared();
  EXPECT_TRUE(latch.lock(1));
  latch.unlock();
  EXPECT_TRUE(latch.try_lock_shared()) << "nobody waits any more";
}

TEST(SharedLatch, SurvivesAWriterThatNeverComesBack) {
  Explored word;
  SharedLatch<ExploredAtomics> latch(word);
  ASSERT_TRUE(latch.try_lock_shared());
  EXPECT_FALSE(latch.lock(2));
  latch.unlock_shared();
  EXPECT_TRUE(latch.lock_shared(2)) << "after its tries a reader goes in";
  EXPECT_TRUE(latch.try_lock_shared()) << "and the next ones do not even wait";
  latch.unlock_shared();
  latch.unlock_shared();
  EXPECT_EQ(word.now() & ~kHints, 0u);
  EXPECT_TRUE(latch.lock(1));
  latch.unlock();
  EXPECT_EQ(word.now(), 0u);
}

TEST(SharedLatch, LetsReadersInBeforeAWaitingWriterOnce) {
  Explored word;
  SharedLatch<ExploredAtomics> latch(word);
  ASSERT_TRUE(latch.lock_shared(2));
  EXPECT_FALSE(latch.lock(2));
  EXPECT_FALSE(latch.must_insist());
  EXPECT_TRUE(latch.lock_shared(2));
  EXPECT_FALSE(latch.lock(2));
  EXPECT_TRUE(latch.must_insist());
  EXPECT_FALSE(latch.insist(2)) << "readers are inside";
  EXPECT_FALSE(latch.lock_shared(2)) << "however long it waits";
  latch.unlock_shared();
  latch.unlock_shared();
  EXPECT_FALSE(latch.lock_shared(2));
  EXPECT_FALSE(latch.lock(2)) << "nor another writer";
  EXPECT_TRUE(latch.insist(1));
  latch.unlock();
  EXPECT_EQ(word.now(), 0u);
  EXPECT_TRUE(latch.lock_shared(1));
}

/// `threads` threads count up a plain integer, one increment in four by a writer that reads it twice.
template <class Lock, class Unlock, class LockShared, class UnlockShared>
void stress(unsigned threads, Lock lock, Unlock unlock, LockShared lock_shared, UnlockShared unlock_shared) {
  constexpr unsigned kRounds = 20'000;
  std::uint64_t plain = 0;
  std::uint64_t copy = 0;
  std::atomic<std::uint64_t> torn{0};
  std::atomic<std::uint64_t> writes{0};
  std::barrier start(threads);
  std::vector<std::thread> crew;
  for (unsigned t = 0; t < threads; ++t) {
    crew.emplace_back([&, t] {
      start.arrive_and_wait();
      for (unsigned i = 0; i < kRounds; ++i) {
        if ((i + t) % 4 == 0) {
          while (!lock()) std::this_thread::yield();
          ++plain;
          if (i % 64 == 0) std::this_thread::yield();
          ++copy;
          unlock();
          ++writes;
        } else {
          while (!lock_shared()) std::this_thread::yield();
          torn += plain != copy;
          unlock_shared();
        }
      }
    });
  }
  for (std::thread& thread : crew) thread.join();
  EXPECT_EQ(torn.load(), 0u);
  EXPECT_EQ(plain, writes.load());
}

TEST(LatchStress, ExcludesTwoToEightThreads) {
  for (const unsigned threads : {2u, 4u, 8u}) {
    std::atomic<std::uint64_t> word{0};
    Latch<StdAtomics> latch(word);
    stress(
        threads, [&] { return latch.lock(); }, [&] { latch.unlock(); }, [&] { return latch.lock(); },
        [&] { latch.unlock(); });
  }
}

TEST(SharedLatchStress, ExcludesTwoToEightThreads) {
  for (const unsigned threads : {2u, 4u, 8u}) {
    std::atomic<std::uint64_t> word{0};
    SharedLatch<StdAtomics> latch(word);
    stress(
        threads, [&] { return latch.lock(); }, [&] { latch.unlock(); }, [&] { return latch.lock_shared(); },
        [&] { latch.unlock_shared(); });
  }
}

}  // namespace
