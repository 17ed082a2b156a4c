// Targets of capsule calls (P18, P21): on both sides of each bound of the vector and of its entries.
// SPDX-License-Identifier: MIT
#include "chip/capsule/vector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chip/isa/task_instructions.hpp"

namespace rubato::chip {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr Addr kBegin = 0x40000;
constexpr std::uint64_t kPage = AddressSpace::kPageBytes, kBytes = 2 * kPage;
constexpr std::uint8_t kText = Page::kRead | Page::kExecute | Page::kUntracked;

class CapsuleVectorTest : public testing::Test {
 protected:
  CapsuleVectorTest() {
    memory_.map(kBegin - kPage, 4 * kPage, Page::kRead | Page::kWrite);
    memory_.store<std::uint64_t>(kBegin + 8, 0x100);        // an entry; that before it is 0
    memory_.store<std::uint64_t>(kBegin + 16, kBytes - 4);  // the last place there is
    memory_.store<std::uint64_t>(kBegin + 24, kBytes);      // behind the end
    memory_.store<std::uint64_t>(kBegin + kBytes - 8, 0x200);
    memory_.store<std::uint64_t>(kBegin + kBytes, 0x300);
    memory_.store<std::uint64_t>(kBegin - 8, 0x400);
    memory_.protect(kBegin, kBytes, kText);
  }
  void set() { ASSERT_THAT(vector_.set(kBegin, kBytes), IsEmpty()); }
  std::string refusal(Addr a7, std::uint32_t depth = 0) {
    HartState hart{};
    hart.x[reg::a7] = a7;
    hart.capsule_depth = depth;
    return vector_.refusal(hart);
  }

  AddressSpace memory_;
  CapsuleVector vector_{memory_};
};

TEST_F(CapsuleVectorTest, AnEntryIsAnAlignedDistanceInsideTheVector) {
  set();
  EXPECT_EQ(vector_.target(kBegin + 8), kBegin + 0x100);
  EXPECT_EQ(vector_.target(kBegin + 16), kBegin + kBytes - 4);
  EXPECT_EQ(vector_.target(kBegin + kBytes - 8), kBegin + 0x200);
  EXPECT_EQ(vector_.target(kBegin), 0U) << "a gap";
  EXPECT_EQ(vector_.target(kBegin + 24), 0U) << "leads behind the end";
  EXPECT_EQ(vector_.target(kBegin + 12), 0U) << "not aligned";
  EXPECT_EQ(vector_.target(kBegin - 8), 0U);
  EXPECT_EQ(vector_.target(kBegin + kBytes), 0U);
}

TEST_F(CapsuleVectorTest, CallsAreRefusedBeforeItIsSetThroughNoEntryAndTooDeep) {
  EXPECT_THAT(refusal(kBegin + 8), HasSubstr("has not set its capsule vector"));
  set();
  EXPECT_THAT(refusal(kBegin + 8), IsEmpty());
  EXPECT_THAT(refusal(kBegin), HasSubstr("is no entry of the capsule vector"));
  EXPECT_THAT(refusal(kBegin + 8, isa::kMaxCapsuleDepth - 1), IsEmpty());
  EXPECT_THAT(refusal(kBegin + 8, isa::kMaxCapsuleDepth), HasSubstr("nested more than"));
}

TEST_F(CapsuleVectorTest, ACallLinksOnlyIfAskedAndAReturnLeadsBack) {
  set();
  for (const bool links : {false, true}) {
    HartState hart{};
    hart.pc = 0x1000;
    hart.x[reg::ra] = 0x2000;
    hart.x[reg::a7] = kBegin + 8;
    vector_.enter(hart, links);
    EXPECT_EQ(hart.pc, kBegin + 0x100);
    EXPECT_EQ(hart.capsule_depth, 1U);
    CapsuleVector::leave(hart);
    EXPECT_EQ(hart.pc, links ? 0x1004U : 0x2000U);
    EXPECT_EQ(hart.capsule_depth, 0U);
  }
}

TEST_F(CapsuleVectorTest, ItIsSetOnceToWholePages) {
  for (const auto& [begin, bytes] : {std::pair{kBegin + 8, kBytes},
                                     {kBegin, kBytes - 8},
                                     {kBegin, 0UL},
                                     {AddressSpace::kSize, kPage},
                                     {AddressSpace::kSize - kPage, kBytes}}) {
    EXPECT_THAT(vector_.set(begin, bytes), HasSubstr("is no whole number of pages")) << begin << ' ' << bytes;
    EXPECT_FALSE(vector_.is_set());
  }
  set();
  EXPECT_TRUE(vector_.is_set());
  EXPECT_EQ(vector_.begin(), kBegin);
  EXPECT_EQ(vector_.bytes(), kBytes);
  EXPECT_THAT(vector_.set(kBegin, kBytes), HasSubstr("this one did so again"));
}

TEST_F(CapsuleVectorTest, ItsPagesAreUntrackedExecutableAndNotWritable) {
  for (const int wrong : {kText & ~Page::kUntracked, kText | Page::kWrite, kText & ~Page::kExecute}) {
    memory_.protect(kBegin + kPage, kPage, static_cast<std::uint8_t>(wrong));
    EXPECT_THAT(vector_.set(kBegin, kBytes), HasSubstr("page 0x41000 must be untracked")) << wrong;
  }
  EXPECT_FALSE(vector_.is_set());
}

TEST_F(CapsuleVectorTest, WithoutCapsulesItsPagesMayBeTracked) {
  memory_.track_all();
  memory_.protect(kBegin, kBytes, kText);
  EXPECT_EQ(memory_.attributes(kBegin) & Page::kUntracked, 0);
  set();
}

}  // namespace
}  // namespace rubato::chip
