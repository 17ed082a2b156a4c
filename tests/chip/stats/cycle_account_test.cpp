// Core cycles add up exactly, by core and by task function (C23).
// SPDX-License-Identifier: MIT
#include "chip/stats/cycle_account.hpp"

#include <gtest/gtest.h>

namespace rubato::chip {
namespace {

TEST(CycleAccount, AddsUpOnlyWhenEveryCoreAccountsForEveryCycle) {
  CycleAccount account(2);
  account.charge(CoreId{0}, CycleClass::nonspeculative, CyclePart::core, 7);
  account.charge(CoreId{0}, CycleClass::idle, CyclePart::core, 3);
  account.charge(CoreId{1}, CycleClass::stall, CyclePart::core, 9);
  EXPECT_EQ(account.first_wrong_core(10), 1u);
  account.charge(CoreId{1}, CycleClass::spill, CyclePart::memory, 1);
  EXPECT_EQ(account.first_wrong_core(10), 2u);
  EXPECT_EQ(account.first_wrong_core(9), 0u);
  account.verify(10);
}

TEST(CycleAccountDeathTest, NamesTheCoreThatDoesNotAddUp) {
  CycleAccount account(1);
  account.charge(CoreId{0}, CycleClass::idle, CyclePart::core, 11);
  EXPECT_DEATH(account.verify(10), "core 0 accounts for 11 cycles of 10");
}

TEST(CycleAccount, KeepsSpeculativeCyclesUntilTheirFateIsKnown) {
  CycleAccount account(1);
  AttemptCycles attempt{CoreId{0}, 0x1000, {}};
  attempt.charge(CyclePart::core, 4);
  attempt.charge(CyclePart::l2, 6);
  EXPECT_EQ(account.total().sum(), 0u);
  account.settle(attempt, CycleClass::aborted);
  account.settle(attempt, CycleClass::committed);
  EXPECT_EQ(account.total().at(CycleClass::aborted, CyclePart::l2), 6u);
  EXPECT_EQ(account.total().of_class(CycleClass::committed), 10u);
  account.verify(20);
}

TEST(CycleAccount, ChargesTheFunctionThatRunsOnTheCore) {
  CycleAccount account(2);
  account.run_function(CoreId{0}, 0x400);
  account.run_function(CoreId{1}, 0x400);
  account.charge(CoreId{0}, CycleClass::nonspeculative, CyclePart::core, 5);
  account.charge(CoreId{1}, CycleClass::nonspeculative,
                 AccessParts{.l1 = 1, .l2 = 2, .llc = 3, .memory = 4, .network = 5, .check = 6});
  account.run_function(CoreId{0}, 0);
  account.charge(CoreId{0}, CycleClass::idle, CyclePart::core, 16);
  const auto& functions = account.by_function();
  EXPECT_EQ(functions.at(0x400).sum(), 26u);
  EXPECT_EQ(functions.at(0x400).at(CycleClass::nonspeculative, CyclePart::memory), 4u);
  EXPECT_EQ(functions.at(0).sum(), 16u);
  account.verify(21);
}

TEST(CycleAccount, RegistersTotalsThatAddUpToTheClasses) {
  CycleAccount account(2);
  account.charge(CoreId{1}, CycleClass::nonspeculative, CyclePart::llc, 5);
  account.charge(CoreId{0}, CycleClass::nonspeculative, CyclePart::core, 2);
  StatRegistry registry;
  account.register_stats(registry);
  EXPECT_EQ(registry.find("chip.core_cycles.nonspeculative")->total(), 7u);
  EXPECT_EQ(registry.find("chip.core_cycles.nonspeculative.llc")->total(), 5u);
  EXPECT_EQ(registry.find("core.1.cycles.nonspeculative")->total(), 5u);
  EXPECT_EQ(registry.find("core.2.cycles.nonspeculative"), nullptr);
}

}  // namespace
}  // namespace rubato::chip
