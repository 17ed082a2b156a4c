// Locks of ranges against a table of every byte, and owners that are open files.
// SPDX-License-Identifier: MIT
#include "chip/os/file_locks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>

#include "base/rng.hpp"

namespace rubato::chip {
namespace {

using Lock = FileLocks::Lock;
using Kind = FileLocks::Kind;
constexpr FileId kFile{1, 1}, kOther{1, 2};

TEST(FileLocks, AreThoseOfATableOfBytes) {
  constexpr std::uint64_t kBytes = 24;
  constexpr int kOwners = 3;
  enum Held : std::uint8_t { nothing, shared, exclusive };
  std::array<std::array<Held, kBytes>, kOwners> table{};
  FileLocks locks;
  Rng rng(11);
  std::uint64_t granted = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto owner = static_cast<std::size_t>(rng.below(kOwners));
    Lock lock{.file = kFile, .pid = static_cast<int>(owner) + 1};
    lock.begin = rng.below(kBytes);
    lock.end = lock.begin + 1 + rng.below(kBytes - lock.begin);
    lock.is_exclusive = rng.below(2) == 0;
    std::uint64_t in_the_way = FileLocks::kEnd;
    bool had = false;
    for (std::uint64_t byte = lock.begin; byte < lock.end; ++byte) {
      had = had || table[owner][byte] != nothing;
      for (std::size_t other = 0; other < kOwners; ++other)
        if (other != owner && in_the_way == FileLocks::kEnd && table[other][byte] != nothing &&
            (lock.is_exclusive || table[other][byte] == exclusive))
          in_the_way = byte;
    }
    Held now = nothing;
    if (rng.below(3) == 0) {
      ASSERT_EQ(locks.remove(lock), had) << i;
    } else {
      const Lock* const other = locks.conflict(lock);
      ASSERT_EQ(other != nullptr, in_the_way != FileLocks::kEnd) << i;
      if (other != nullptr) {
        ASSERT_LE(other->begin, in_the_way);
        ASSERT_GT(other->end, lock.begin);
        ++refused;
        continue;
      }
      ++granted;
      locks.put(lock);
      now = lock.is_exclusive ? exclusive : shared;
    }
    for (std::uint64_t byte = lock.begin; byte < lock.end; ++byte) table[owner][byte] = now;
  }
  EXPECT_GT(granted, 2000U);
  EXPECT_GT(refused, 2000U);
}

TEST(FileLocks, GrowTogetherAndAreCut) {
  FileLocks locks;
  const auto range = [](std::uint64_t begin, std::uint64_t end) {
    return Lock{.file = kFile, .pid = 7, .begin = begin, .end = end, .is_exclusive = true};
  };
  locks.put(range(0, 10));
  locks.put(range(20, 30));
  locks.put(range(10, 20));
  Lock asked{.file = kFile, .pid = 8};
  EXPECT_EQ(locks.conflict(asked)->end, 30U);
  locks.remove(range(5, 6));
  EXPECT_EQ(locks.conflict(asked)->end, 5U);
  asked.file = kOther;
  EXPECT_EQ(locks.conflict(asked), nullptr);
  locks.release(7, kOther);
  EXPECT_FALSE(locks.empty());
  locks.release(7, kFile);
  EXPECT_TRUE(locks.empty());
}

TEST(FileLocks, OfAnOpenFileEndWithIt) {
  FileLocks locks;
  auto one = std::make_shared<EventCounter>(0, false, 2), other = std::make_shared<EventCounter>(0, false, 2);
  Lock lock{.kind = Kind::whole, .file = kFile, .open_file = one, .is_exclusive = true};
  Lock asked{.kind = Kind::whole, .file = kFile, .open_file = other};
  locks.put(lock);
  EXPECT_EQ(locks.conflict(lock), nullptr) << "its own";
  EXPECT_NE(locks.conflict(asked), nullptr);
  asked.kind = Kind::range;
  EXPECT_EQ(locks.conflict(asked), nullptr) << "locks of the other kind are not in the way";
  asked.kind = Kind::whole;
  lock.open_file.reset();
  one.reset();
  EXPECT_EQ(locks.conflict(asked), nullptr);
  EXPECT_TRUE(locks.empty());
}

}  // namespace
}  // namespace rubato::chip
