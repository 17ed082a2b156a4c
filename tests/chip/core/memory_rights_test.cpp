// SPDX-License-Identifier: MIT
#include "chip/core/memory_rights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>

#include "chip/core/load_reservation.hpp"

namespace rubato::chip {
namespace {

constexpr Addr kTracked = 0x200000, kUntracked = 0x300000, kStacks = 0x400000;
constexpr std::uint64_t kPage = AddressSpace::kPageBytes;

struct MemoryRightsTest : testing::Test {
  MemoryRightsTest() {
    memory.map(kTracked, kPage, Page::kRead | Page::kWrite);
    memory.map(kUntracked, kPage, Page::kRead | Page::kWrite | Page::kUntracked);
    memory.map(kStacks, 2 * kPage, Page::kRead | Page::kWrite);
    memory.mark_worker_stack(kStacks, kStacks + kPage, true);
    memory.mark_worker_stack(kStacks + kPage, kStacks + 2 * kPage, true);
    rights.set_own_stack(kStacks, kStacks + kPage);
  }

  AddressSpace memory;
  RunningTask task;
  HartState hart;
  Attempt attempt;
  MemoryRights rights{memory, task, hart};
};

TEST_F(MemoryRightsTest, LinesOfTheOwnStackAndUntrackedPagesAreUntracked) {
  EXPECT_FALSE(rights.is_untracked(line_of(kTracked)));
  EXPECT_TRUE(rights.is_untracked(line_of(kUntracked)));
  EXPECT_TRUE(rights.is_untracked(line_of(kStacks)));
  EXPECT_FALSE(rights.is_untracked(line_of(kStacks + kPage))) << "another worker's";
  rights.set_own_stack(kStacks + 8, kStacks + kPage - 8);
  EXPECT_FALSE(rights.is_own_stack(line_of(kStacks))) << "a line that only ends in the stack";
  EXPECT_TRUE(rights.is_own_stack(line_of(kStacks + kLineBytes)));
  EXPECT_FALSE(rights.is_own_stack(line_of(kStacks + kPage - 1)));
}

TEST_F(MemoryRightsTest, OnlySpeculativeCodeOutsideCapsulesLacksUntrackedMemory) {
  EXPECT_FALSE(rights.lacks(kUntracked, 8)) << "non-speculative";
  EXPECT_TRUE(rights.has_untracked());
  task.attempt = &attempt;
  EXPECT_TRUE(rights.lacks(kUntracked, 8));
  EXPECT_TRUE(rights.lacks(kUntracked - 4, 8)) << "its last bytes";
  EXPECT_FALSE(rights.lacks(kTracked, 8));
  EXPECT_FALSE(rights.lacks(kStacks, 8));
  EXPECT_FALSE(rights.has_untracked());
  hart.capsule_depth = 1;
  EXPECT_FALSE(rights.lacks(kUntracked, 8));
  EXPECT_TRUE(rights.has_untracked());
}

TEST_F(MemoryRightsTest, ADoomedRunDropsStoresToTrackedMemoryAndIsForgivenAccessesThere) {
  EXPECT_FALSE(rights.drops(kTracked));
  EXPECT_FALSE(rights.forgives(kTracked));
  task.is_doomed = true;
  EXPECT_TRUE(rights.drops(kTracked));
  EXPECT_FALSE(rights.drops(kUntracked));
  EXPECT_FALSE(rights.drops(kStacks));
  EXPECT_TRUE(rights.forgives(kTracked));
  EXPECT_FALSE(rights.forgives(kUntracked));
}

TEST_F(MemoryRightsTest, AStackOfAnotherWorkerIsForeignToItsLastByte) {
  EXPECT_FALSE(rights.is_foreign_stack(kStacks + kPage - 8, 8));
  EXPECT_TRUE(rights.is_foreign_stack(kStacks + kPage - 4, 8));
  EXPECT_TRUE(rights.is_foreign_stack(kStacks + kPage, 8));
  EXPECT_FALSE(rights.is_foreign_stack(kTracked, 8));
  hart.x[reg::sp] = kStacks + 64;
  EXPECT_THAT(rights.foreign_stack_sentence(kStacks + kPage),
              testing::HasSubstr("lies in the stack of another core's worker"));
  hart.x[reg::sp] = kStacks - 64;
  EXPECT_THAT(rights.foreign_stack_sentence(kStacks - 64), testing::HasSubstr("beyond the end of its stack"));
}

struct LoadReservationTest : MemoryRightsTest {
  LoadReservationTest() {
    for (const Addr a : {kTracked, kUntracked})
      l1d.fill(l1d.victim(line_of(a)).slot, line_of(a), LineState::modified);
    l1d.begin_marks();
  }
  L1Cache l1d{{16384, 8}};
  Reservations others;
  LoadReservation reservation{CoreId{3}, l1d, &others, task, rights, hart};
};

TEST_F(LoadReservationTest, StandsAtItsAddressUntilItEnds) {
  EXPECT_FALSE(reservation.stands(kTracked));
  reservation.make(kTracked + 8);
  EXPECT_TRUE(reservation.stands(kTracked + 8));
  EXPECT_FALSE(reservation.stands(kTracked)) << "another word of the line";
  reservation.end();
  EXPECT_FALSE(reservation.stands(kTracked + 8));
}

TEST_F(LoadReservationTest, ANonSpeculativeOneOfTrackedMemoryOutlivesTheLineInTheL1) {
  reservation.make(kTracked);
  l1d.clear_reservation();
  EXPECT_TRUE(reservation.stands(kTracked));
  others.on_store(CoreId{4}, line_of(kTracked));
  EXPECT_FALSE(reservation.stands(kTracked)) << "another core's store is there for good";
  reservation.make(kUntracked);
  l1d.clear_reservation();
  EXPECT_FALSE(reservation.stands(kUntracked));
}

TEST_F(LoadReservationTest, ASpeculativeOneIsSureOfTrackedMemoryOnly) {
  task.attempt = &attempt;
  reservation.make(kTracked);
  l1d.clear_reservation();
  EXPECT_TRUE(reservation.stands(kTracked));
  EXPECT_FALSE(others.stands(CoreId{3}, line_of(kTracked))) << "that is for non-speculative tasks";
  reservation.make(kUntracked);
  EXPECT_TRUE(reservation.stands(kUntracked));
  l1d.clear_reservation();
  EXPECT_FALSE(reservation.stands(kUntracked));
}

TEST_F(LoadReservationTest, IsLostWithItsLineAndNoOther) {
  reservation.make(kTracked + kLineBytes);
  const LineAddr line = line_of(kTracked + kLineBytes), before = line_of(kTracked);
  reservation.lose(before, before);
  EXPECT_TRUE(reservation.stands(kTracked + kLineBytes));
  reservation.lose(before, line);
  EXPECT_FALSE(reservation.stands(kTracked + kLineBytes));
}

// A store of another process to a shared file takes no line away: its lines are other ones.
TEST_F(LoadReservationTest, OfASharedFileIsLostWithTheWord) {
  constexpr Addr kShared = 0x500000;
  const auto file =
      std::make_shared<MappedFile>(::memfd_create("shared", MFD_CLOEXEC), FileId{1, 1}, true, "");
  ASSERT_EQ(::ftruncate(file->fd(), static_cast<off_t>(kPage)), 0);
  AddressSpace others_memory;
  for (AddressSpace* const of : {&memory, &others_memory})
    ASSERT_EQ(of->map_file(kShared, kPage, Page::kRead | Page::kWrite, {file, 0, true}), 0);
  l1d.fill(l1d.victim(line_of(kShared)).slot, line_of(kShared), LineState::modified);
  reservation.make(kShared + 4);
  others_memory.store<std::uint32_t>(kShared + 8, 1);
  EXPECT_TRUE(reservation.stands(kShared + 4)) << "another word";
  others_memory.store<std::uint32_t>(kShared + 4, 1);
  EXPECT_FALSE(reservation.stands(kShared + 4));
  reservation.make(kShared + 4);
  EXPECT_TRUE(reservation.stands(kShared + 4));
  memory.store<std::uint32_t>(kTracked, 1);
  reservation.make(kTracked);
  memory.store<std::uint32_t>(kTracked, 2);
  EXPECT_TRUE(reservation.stands(kTracked)) << "of other memory the caches hear";
}

}  // namespace
}  // namespace rubato::chip
