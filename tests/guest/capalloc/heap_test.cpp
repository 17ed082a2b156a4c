// capalloc's heap on the host: where blocks lie, what mistakes are found, and that threads which take and
// give each other's blocks leave every block in exactly one place.
// SPDX-License-Identifier: MIT
#include "guest/capalloc/heap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/rng.hpp"

namespace rubato::capalloc {
namespace {

struct HostSystem {
  using Lock = std::mutex;
  static constexpr unsigned kCores = 4;
  static thread_local unsigned core_now;  // kCores: a thread outside tasks
  static std::atomic<std::uint64_t> most_bytes, bytes;

  static bool is_task() { return core_now < kCores; }
  static std::uint64_t core() { return core_now; }
  static unsigned cores() { return kCores; }
  static std::uintptr_t reserve(std::uint64_t wanted, bool) {
    void* const at = mmap(nullptr, wanted, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? 0 : reinterpret_cast<std::uintptr_t>(at);
  }
  static bool commit(std::uintptr_t begin, std::uint64_t wanted) {
    if (bytes += wanted; bytes > most_bytes) return false;
    const std::uintptr_t low = begin & ~std::uintptr_t{4095},
                         high = (begin + wanted + 4095) & ~std::uintptr_t{4095};
    return mprotect(reinterpret_cast<void*>(low), high - low, PROT_READ | PROT_WRITE) == 0;
  }
};
thread_local unsigned HostSystem::core_now = HostSystem::kCores;
std::atomic<std::uint64_t> HostSystem::most_bytes{~std::uint64_t{0}}, HostSystem::bytes{0};

class CapallocHeap : public testing::Test {
 protected:
  CapallocHeap() {
    HostSystem::core_now = 0;
    HostSystem::most_bytes = ~std::uint64_t{0};
    HostSystem::bytes = 0;
    EXPECT_TRUE(heap_->set());
  }

  // By the fast paths first, as malloc and free do.
  std::uint64_t take(std::uint64_t bytes) {
    if (HostSystem::is_task() && bytes <= kLargestSmallBlock) {
      const std::uint64_t address = heap_->take_cached(bytes, heap_->cache_of(HostSystem::core()));
      if (address != 0) return address;
    }
    Taken taken = heap_->take(bytes);
    while (taken.address == 0 && heap_->grow(bytes, 0)) taken = heap_->take(bytes);
    return taken.address;
  }
  std::uint64_t take(std::uint64_t bytes, std::uint64_t alignment) {
    Taken taken = heap_->take(bytes, alignment);
    while (taken.address == 0 && heap_->grow(bytes, alignment)) taken = heap_->take(bytes, alignment);
    return taken.address;
  }

  GiveError give(std::uint64_t address) {
    if (!HostSystem::is_task()) return heap_->give(address);
    GiveError error = GiveError::none;
    heap_->give_cached(
        address, heap_->cache_before(HostSystem::core_now + 1),
        [&](std::uint64_t block, std::int64_t mark) { error = heap_->give_marked(block, mark); });
    return error;
  }

  const std::unique_ptr<Heap<HostSystem>> heap_ = std::make_unique<Heap<HostSystem>>();
};

TEST_F(CapallocHeap, GivesEachSizeItsClass) {
  for (const std::uint64_t bytes : {0, 1, 16, 17, 33, 64, 65, 512, 513, 640, 641, 1025, 16383, 16384}) {
    const std::uint64_t block = take(bytes);
    EXPECT_EQ(heap_->usable(block), kClassBytes[size_class_of(bytes)]) << bytes;
    EXPECT_GE(heap_->usable(block), bytes);
    EXPECT_EQ(block % (bytes >= 64 ? 64 : 16), 0u) << bytes;
    std::memset(reinterpret_cast<void*>(block), 0xff, heap_->usable(block));
  }
  EXPECT_EQ(heap_->check(), nullptr);
}

TEST_F(CapallocHeap, GivesLargeBlocksWholePagesThatReadAsZeroAtFirst) {
  ASSERT_TRUE(heap_->grow(1 << 20, 0));
  const Taken first = heap_->take(20'000);
  EXPECT_EQ(heap_->usable(first.address), 3 * kPageBytes);
  EXPECT_EQ(first.is_fresh, 1u);
  std::memset(reinterpret_cast<void*>(first.address), 0xff, 3 * kPageBytes);
  EXPECT_EQ(give(first.address), GiveError::none);
  const Taken again = heap_->take(20'000);
  EXPECT_EQ(again.is_fresh, 0u);
  EXPECT_EQ(heap_->check(), nullptr);
}

TEST_F(CapallocHeap, JoinsWhatIsFreeAgain) {
  ASSERT_TRUE(heap_->grow(1 << 20, 0));
  std::vector<std::uint64_t> blocks;
  for (int i = 0; i < 32; ++i) blocks.push_back(heap_->take(kPageBytes * 4).address);
  EXPECT_EQ(heap_->take(kPageBytes * 4).address, 0u);  // all of the first MiB is out
  for (const int first : {1, 0})
    for (int i = first; i < 32; i += 2) EXPECT_EQ(give(blocks[i]), GiveError::none);
  EXPECT_EQ(heap_->check(), nullptr);
  EXPECT_NE(heap_->take(1 << 20).address, 0u);  // in one piece
}

TEST_F(CapallocHeap, LengthensALargeBlockByThePagesBehind) {
  ASSERT_TRUE(heap_->grow(1 << 20, 0));  // 128 pages
  const std::uint64_t block = heap_->take(kPageBytes * 30).address;
  EXPECT_EQ(heap_->lengthen(block, kPageBytes * 30).number, 0u);  // as long as that already
  EXPECT_NE(heap_->lengthen(block, kPageBytes * 40 - 100).number, 0u);
  EXPECT_EQ(heap_->usable(block), kPageBytes * 40);
  const std::uint64_t behind = heap_->take(kPageBytes * 50).address;
  EXPECT_EQ(behind, block + kPageBytes * 40);
  const Lengthened blocked = heap_->lengthen(block, kPageBytes * 41);
  EXPECT_EQ(blocked.number, 0u);
  EXPECT_FALSE(blocked.grow_helps);
  const Lengthened at_end = heap_->lengthen(behind, kPageBytes * 89);
  EXPECT_EQ(at_end.number, 0u);
  EXPECT_TRUE(at_end.grow_helps);
  EXPECT_NE(heap_->lengthen(behind, kPageBytes * 88).number, 0u);  // to the last page
  EXPECT_TRUE(heap_->lengthen(behind, kPageBytes * 89).grow_helps);
  ASSERT_TRUE(heap_->grow(kPageBytes * 89, 0));
  EXPECT_NE(heap_->lengthen(behind, kPageBytes * 89).number, 0u);
  EXPECT_EQ(heap_->lengthen(take(100), 20'000).number, 0u);  // a small block
  EXPECT_EQ(heap_->lengthen(block + kPageBytes, kPageBytes * 60).number, 0u);
  EXPECT_EQ(heap_->check(), nullptr);
  EXPECT_EQ(give(block), GiveError::none);
  EXPECT_EQ(give(behind), GiveError::none);
  EXPECT_EQ(heap_->lengthen(block, kPageBytes * 60).number, 0u);  // freed
  EXPECT_EQ(heap_->check(), nullptr);
}

TEST_F(CapallocHeap, UndoesALengtheningThatNothingReliesOn) {
  ASSERT_TRUE(heap_->grow(1 << 20, 0));
  const std::uint64_t block = heap_->take(kPageBytes * 30).address;
  const auto lengthen = [&](std::uint32_t pages) { return heap_->lengthen(block, kPageBytes * pages); };
  const Lengthened first = lengthen(40);
  heap_->undo_lengthen(block, first.number, first.pages_before);
  EXPECT_EQ(heap_->usable(block), kPageBytes * 30);
  EXPECT_EQ(heap_->take(kPageBytes * 8).address, block + kPageBytes * 30);

  const std::uint64_t other = heap_->take(kPageBytes * 20).address;
  const auto undo = [&](const Lengthened& done) {
    heap_->undo_lengthen(other, done.number, done.pages_before);
  };
  const Lengthened seen = heap_->lengthen(other, kPageBytes * 25);
  EXPECT_EQ(heap_->usable(other), kPageBytes * 25);  // the caller may rely on it
  undo(seen);
  EXPECT_EQ(heap_->usable(other), kPageBytes * 25);

  const Lengthened earlier = heap_->lengthen(other, kPageBytes * 30);
  const Lengthened later = heap_->lengthen(other, kPageBytes * 35);
  undo(earlier);
  EXPECT_EQ(heap_->usable(other), kPageBytes * 35);
  undo(later);  // the size has been asked for since
  EXPECT_EQ(heap_->usable(other), kPageBytes * 35);

  const Lengthened freed = heap_->lengthen(other, kPageBytes * 36);
  EXPECT_EQ(give(other), GiveError::none);
  undo(freed);
  EXPECT_EQ(heap_->take(kPageBytes * 60).address, other);
  undo(freed);
  EXPECT_EQ(heap_->usable(other), kPageBytes * 60);
  EXPECT_EQ(heap_->check(), nullptr);
}

TEST_F(CapallocHeap, ShortensALargeBlockWhereItIs) {
  ASSERT_TRUE(heap_->grow(1 << 20, 0));
  const std::uint64_t block = heap_->take(1 << 20).address;
  EXPECT_FALSE(heap_->shorten(block, (1 << 20) + 1));
  EXPECT_TRUE(heap_->shorten(block, kPageBytes * 10 - 5));
  EXPECT_EQ(heap_->usable(block), kPageBytes * 10);
  EXPECT_EQ(heap_->take(kPageBytes * 118).address, block + kPageBytes * 10);
  EXPECT_TRUE(heap_->shorten(block, kPageBytes * 10));
  EXPECT_FALSE(heap_->shorten(take(100), 20'000));
  EXPECT_EQ(heap_->check(), nullptr);
}

TEST_F(CapallocHeap, AlignsAsAsked) {
  std::vector<std::uint64_t> blocks;
  for (std::uint64_t alignment = 1; alignment <= 1 << 20; alignment *= 2) {
    for (const std::uint64_t bytes : {1, 100, 3000, 9000, 70'000}) {
      blocks.push_back(take(bytes, alignment));
      EXPECT_EQ(blocks.back() % alignment, 0u) << bytes << " bytes at " << alignment;
      EXPECT_GE(heap_->usable(blocks.back()), bytes);
    }
  }
  EXPECT_EQ(heap_->check(), nullptr);
  for (const std::uint64_t block : blocks) EXPECT_EQ(give(block), GiveError::none);
  EXPECT_EQ(heap_->check(), nullptr);
}

TEST_F(CapallocHeap, ASmallBlockForAnAlignmentIsOfAClassOfItsMultiples) {
  for (std::uint64_t alignment = 1; alignment <= 2 * kPageBytes; alignment *= 2) {
    for (std::uint64_t bytes = 0; bytes <= kLargestSmallBlock + 1; ++bytes) {
      const std::uint64_t small = Heap<HostSystem>::small_bytes(bytes, alignment);
      const bool fits = alignment <= kPageBytes && bytes <= kLargestSmallBlock;
      ASSERT_EQ(small != 0, fits) << bytes << " bytes at " << alignment;
      if (fits) {
        ASSERT_GE(small, bytes);
        ASSERT_EQ(kClassBytes[size_class_of(small)] % alignment, 0u) << bytes << " bytes at " << alignment;
      }
    }
  }
}

TEST_F(CapallocHeap, FindsWrongPointers) {
  const std::uint64_t block = take(100), large = take(100'000);
  EXPECT_EQ(give(block + 16), GiveError::no_block);
  EXPECT_EQ(give(block + 1), GiveError::no_block);
  EXPECT_EQ(give(large + kPageBytes), GiveError::no_block);
  EXPECT_EQ(give(0), GiveError::no_block);
  EXPECT_EQ(give(~std::uint64_t{0} - 15), GiveError::no_block);
  EXPECT_EQ(give(block - block % kPageBytes + (std::uint64_t{1} << 30)), GiveError::no_block);
  for (const std::uint64_t b : {block, large}) {
    EXPECT_EQ(give(b), GiveError::none);
    EXPECT_EQ(give(b), GiveError::freed_before);
    EXPECT_EQ(heap_->usable(b), 0u);
  }
  EXPECT_EQ(heap_->check(), nullptr);
}

TEST_F(CapallocHeap, SaysThatThereIsNoMemory) {
  HostSystem::most_bytes = HostSystem::bytes + (2 << 20);
  std::uint64_t last = 0;
  int blocks = 0;
  while ((last = take(1 << 14)) != 0) ++blocks;
  EXPECT_GE(blocks, 60);
  EXPECT_LE(blocks, 128);
  EXPECT_FALSE(heap_->grow(std::uint64_t{1} << 40, 0));
  EXPECT_EQ(heap_->check(), nullptr);
}

TEST_F(CapallocHeap, ReturnsSpansThatAreFreeAgain) {
  ASSERT_TRUE(heap_->grow(8 << 20, 0));
  std::vector<std::uint64_t> blocks;
  std::uint64_t block = 0;
  while ((block = heap_->take(64).address) != 0) blocks.push_back(block);
  EXPECT_EQ(blocks.size(), (std::size_t{8} << 20) / 64);
  for (const std::uint64_t b : blocks) EXPECT_EQ(give(b), GiveError::none);
  EXPECT_STREQ(heap_->check(), nullptr);
  // All but what the cache, full batches (2 MiB of this class) and one kept span hold, in two pieces at most.
  EXPECT_NE(heap_->take(std::uint64_t{2900} << 10).address, 0u);
}

TEST_F(CapallocHeap, BatchesGoFromCoreToCore) {
  std::vector<std::uint64_t> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(take(256));
  HostSystem::core_now = 1;  // which gives what it never took
  for (const std::uint64_t b : blocks) EXPECT_EQ(give(b), GiveError::none);
  EXPECT_STREQ(heap_->check(), nullptr);
  HostSystem::core_now = 2;
  const std::set<std::uint64_t> before(blocks.begin(), blocks.end());
  int again = 0;
  for (int i = 0; i < 500; ++i) again += before.contains(take(256)) ? 1 : 0;
  EXPECT_GE(again, 448);  // by batches of 64, before anything new is cut
  EXPECT_STREQ(heap_->check(), nullptr);
}

TEST_F(CapallocHeap, OfTwoFreesAtOnceOneIsWrong) {
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t block = take(64);
    std::atomic<int> ready{0}, good{0};
    std::vector<std::thread> threads;
    for (unsigned core = 1; core <= 2; ++core) {
      threads.emplace_back([&, core] {
        HostSystem::core_now = core;
        for (++ready; ready < 2;) {
        }
        if (give(block) == GiveError::none) ++good;
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(good, 1);
  }
  EXPECT_STREQ(heap_->check(), nullptr);
}

/// Each of a few threads takes blocks, writes its number over them, and gives them to any other.
TEST_F(CapallocHeap, ThreadsTakeAndGiveEachOthersBlocks) {
  constexpr int kSteps = 20'000, kPlaces = 512;
  struct Place {
    std::mutex lock;
    std::uint64_t block = 0, bytes = 0;
  };
  std::vector<Place> places(kPlaces);
  const auto work = [&](unsigned core) {
    HostSystem::core_now = core;
    Rng rng(core + 1);
    for (int i = 0; i < kSteps; ++i) {
      Place& place = places[rng.below(kPlaces)];
      const std::lock_guard guard(place.lock);
      if (place.block != 0) {
        auto* const words = reinterpret_cast<std::uint64_t*>(place.block);
        for (std::uint64_t w = 0; w < place.bytes / 8; ++w) ASSERT_EQ(words[w], place.block + w);
        ASSERT_EQ(give(place.block), GiveError::none);
        place.block = 0;
      } else {
        place.bytes = rng.below(16) == 0 ? rng.below(40'000) : rng.below(600);
        place.block = rng.below(8) == 0 ? take(place.bytes, 1ull << rng.below(14)) : take(place.bytes);
        ASSERT_NE(place.block, 0u);
        auto* const words = reinterpret_cast<std::uint64_t*>(place.block);
        for (std::uint64_t w = 0; w < place.bytes / 8; ++w) words[w] = place.block + w;
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned core = 0; core < HostSystem::kCores + 2; ++core)  // two without a core
    threads.emplace_back(work, std::min(core, HostSystem::kCores));
  for (std::thread& thread : threads) thread.join();
  EXPECT_STREQ(heap_->check(), nullptr);
  std::set<std::uint64_t> live;
  for (const Place& place : places) EXPECT_TRUE(place.block == 0 || live.insert(place.block).second);
}

}  // namespace
}  // namespace rubato::capalloc
