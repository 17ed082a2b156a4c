// R4: the choice of MxTasking, Sec. 4.2, as the paper words it.
// SPDX-License-Identifier: MIT
#include "native/sync/choice.hpp"

#include <gtest/gtest.h>

#include <set>

namespace {

using namespace rubato;
using native::ChoiceTable;
using native::Primitive;

constexpr ChoiceTable kTable;

TEST(Choice, SerializesExclusiveResourcesByScheduling) {
  for (const Ratio ratio : {Ratio::balanced, Ratio::mostly_reads, Ratio::mostly_writes}) {
    for (const Frequency frequency : {Frequency::normal, Frequency::low, Frequency::high}) {
      EXPECT_EQ(kTable({Isolation::exclusive, ratio, frequency}), Primitive::pool);
    }
  }
}

TEST(Choice, SchedulesWritersOfInnerTreeNodesAndLatchesThoseOfLeaves) {
  const ResourceOptions inner{Isolation::shared_reads, Ratio::mostly_reads, Frequency::high};
  const ResourceOptions leaf{Isolation::shared_reads, Ratio::mostly_writes, Frequency::low};
  EXPECT_EQ(kTable(inner), Primitive::optimistic_pool);
  EXPECT_EQ(kTable(leaf), Primitive::optimistic_latch);
}

TEST(Choice, ListsEachCombinationOnce) {
  std::set<int> combinations;
  for (const auto& row : native::kChoices) {
    combinations.insert(static_cast<int>(row.isolation) * 16 + static_cast<int>(row.ratio) * 4 +
                        static_cast<int>(row.frequency));
  }
  EXPECT_EQ(combinations.size(), 18u);
}

TEST(Choice, CanBeOverriddenByRowAndAsAWhole) {
  ChoiceTable table;
  const ResourceOptions leaf{Isolation::shared_reads, Ratio::balanced, Frequency::normal};
  const ResourceOptions root{Isolation::shared_reads, Ratio::mostly_reads, Frequency::high};
  table.set(leaf, Primitive::shared_latch);
  EXPECT_EQ(table(leaf), Primitive::shared_latch);
  EXPECT_EQ(table(root), Primitive::optimistic_pool);
  table.set_all(Primitive::latch);
  EXPECT_EQ(table(leaf), Primitive::latch);
  EXPECT_EQ(table(root), Primitive::latch);
}

// Readers of an exclusive resource never run together, whatever is asked for.
TEST(Choice, KeepsExclusiveIsolationUnderEveryOverride) {
  for (const Primitive asked :
       {Primitive::shared_latch, Primitive::optimistic_latch, Primitive::optimistic_pool}) {
    ChoiceTable table;
    table.set_all(asked);
    const Primitive got = table({});
    EXPECT_TRUE(got == Primitive::latch || got == Primitive::pool);
    EXPECT_EQ(table({.isolation = Isolation::shared_reads}), asked);
  }
}

TEST(Choice, GivesAResourceWhatItAsksForWhateverElseWasChosen) {
  using enum Synchronization;
  const std::pair<Synchronization, Primitive> kShared[] = {
      {none, Primitive::none},
      {latch, Primitive::latch},
      {shared_latch, Primitive::shared_latch},
      {optimistic_latch, Primitive::optimistic_latch},
      {optimistic_pool, Primitive::optimistic_pool},
      {pool, Primitive::pool},
  };
  const std::pair<Synchronization, Primitive> kExclusive[] = {
      {none, Primitive::none},
      {latch, Primitive::latch},
      {shared_latch, Primitive::latch},
      {optimistic_latch, Primitive::latch},
      {optimistic_pool, Primitive::pool},
      {pool, Primitive::pool},
  };
  ChoiceTable others;
  others.set_all(Primitive::shared_latch);
  for (const ChoiceTable& table : {ChoiceTable{}, others}) {
    for (const Ratio ratio : {Ratio::balanced, Ratio::mostly_reads, Ratio::mostly_writes}) {
      for (const auto& [asked, got] : kShared)
        EXPECT_EQ(table({Isolation::shared_reads, ratio, Frequency::high, asked}), got);
      for (const auto& [asked, got] : kExclusive)
        EXPECT_EQ(table({Isolation::exclusive, ratio, Frequency::high, asked}), got);
    }
  }
}

}  // namespace
