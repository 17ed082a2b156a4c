// Ends of the reservation of a non-speculative task's load-reserved, and events that do not end it (C12,
// C13). Tile 0 has cores 0 to 3; core 0 reserves.
// SPDX-License-Identifier: MIT
#include "chip/conflict/reservations.hpp"

#include <gtest/gtest.h>

#include "tests/chip/conflict/conflict_rig.hpp"

namespace rubato::chip {
namespace {

constexpr auto kLoad = AccessKind::load;
constexpr auto kStore = AccessKind::store;
constexpr auto kAtomic = AccessKind::atomic;
constexpr LineAddr kLine{5000};

class Reserved : public testing::TestWithParam<std::uint32_t> {  // the other core
 protected:
  void SetUp() override { rig.commit(rig.begin(60, 1)); }  // checks begin with the first attempt
  void reserve() {
    use(0, kLoad);
    rig.detector.reservations().make(CoreId{0}, kLine);
  }
  void use(std::uint32_t core, AccessKind kind) { ASSERT_TRUE(rig.use(core, kLine, kind, now += 1000).done); }
  void begin_nonspeculative(std::uint32_t core) { rig.begin_task(core, kMinVirtualTime, false); }
  bool stands() { return rig.detector.reservations().stands(CoreId{0}, kLine); }
  bool is_in_l1() { return rig.mesi.l1d(CoreId{0}).state(kLine) != LineState::invalid; }
  std::uint32_t other() const { return GetParam(); }

  ConflictRig rig{Config{}};
  std::uint64_t now = 0;
};

TEST_P(Reserved, OutlivesASpeculativeStoreThatTheStoreConditionalAborts) {
  reserve();
  Attempt* a = rig.begin(other(), 5);
  use(other(), kStore);
  EXPECT_FALSE(is_in_l1());
  EXPECT_TRUE(stands());
  use(0, kAtomic);
  EXPECT_FALSE(rig.is_live(a));
  EXPECT_TRUE(stands());
}

TEST_P(Reserved, EndsWhenASpeculativeStoreCommits) {
  reserve();
  Attempt* bystander = rig.begin(40, 5);
  rig.use(40, LineAddr{kLine.value + 1}, kStore, now += 1000);
  rig.use(40, kLine, kLoad, now += 1000);
  Attempt* a = rig.begin(other(), 6);
  use(other(), kStore);
  rig.commit(bystander);
  EXPECT_TRUE(stands());
  rig.commit(a);
  EXPECT_FALSE(stands());
}

TEST_P(Reserved, EndsByANonSpeculativeStore) {
  reserve();
  use(other(), kLoad);
  EXPECT_TRUE(stands());
  use(other(), kStore);
  EXPECT_FALSE(stands());
}

TEST_P(Reserved, EndsByANonSpeculativeStoreWhoseCoreHadTheLineBefore) {
  use(other(), kStore);
  reserve();
  use(other(), kStore);
  EXPECT_FALSE(stands());
}

TEST_P(Reserved, EndsByANonSpeculativeStoreWhereAnAbortedTaskLeftTheLine) {
  reserve();
  Attempt* a = rig.begin(other(), 5);
  use(other(), kStore);
  rig.units.abort({&a, 1}, {}, Cycle{now});
  EXPECT_TRUE(stands());
  begin_nonspeculative(other());
  use(other(), kStore);
  EXPECT_FALSE(stands());
}

INSTANTIATE_TEST_SUITE_P(Core, Reserved, testing::Values(1U, 20U));

TEST(Reservations, AreOneACore) {
  Reservations r;
  r.make(CoreId{0}, LineAddr{1});
  r.make(CoreId{1}, LineAddr{1});
  r.make(CoreId{0}, LineAddr{2});
  EXPECT_FALSE(r.stands(CoreId{0}, LineAddr{1}));
  EXPECT_TRUE(r.stands(CoreId{0}, LineAddr{2}));
  EXPECT_TRUE(r.stands(CoreId{1}, LineAddr{1}));
  r.end(CoreId{0});
  EXPECT_FALSE(r.stands(CoreId{0}, LineAddr{2}));
  EXPECT_TRUE(r.stands(CoreId{1}, LineAddr{1}));
}

}  // namespace
}  // namespace rubato::chip
