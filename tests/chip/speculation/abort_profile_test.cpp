// The abort profile (C25): nothing is lost, and what costs most comes first.
// SPDX-License-Identifier: MIT
#include "chip/speculation/abort_profile.hpp"

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "chip/session/snapshot.hpp"

namespace rubato::chip {
namespace {

constexpr Addr kVisit = 0x1000, kRelax = 0x2000;

TEST(AbortProfile, CountsAttemptsAndCyclesByCause) {
  AbortProfile profile;
  StatRegistry registry;
  profile.register_stats(registry);
  profile.add(AbortCause::conflict, kVisit, kRelax, LineAddr{1}, 100);
  profile.add(AbortCause::conflict, kVisit, kVisit, LineAddr{2}, 7);
  profile.add(AbortCause::locale, kRelax, kVisit, LineAddr{}, 5);
  EXPECT_EQ(registry.stats().size(), 2 * kAbortCauses);
  const auto value = [&](std::string_view name) {
    return std::get<std::uint64_t>(read_stat(*registry.find(name)));
  };
  EXPECT_EQ(value("chip.aborts.conflict"), 2u);
  EXPECT_EQ(value("chip.aborts.conflict.cycles"), 107u);
  EXPECT_EQ(value("chip.aborts.locale"), 1u);
  EXPECT_EQ(value("chip.aborts.locale.cycles"), 5u);
  EXPECT_EQ(value("chip.aborts.parent"), 0u);
}

TEST(AbortProfile, RanksLinesByTheCyclesTheyCost) {
  AbortProfile profile;
  for (int i = 0; i < 5; ++i) profile.add(AbortCause::conflict, kVisit, kVisit, LineAddr{10}, 10);
  profile.add(AbortCause::conflict, kRelax, kVisit, LineAddr{20}, 400);
  profile.add(AbortCause::forwarding, kVisit, kRelax, LineAddr{10}, 30);
  profile.add(AbortCause::parent, kVisit, kVisit, LineAddr{}, 9000);
  const auto lines = profile.lines(10);
  ASSERT_EQ(lines.size(), 2u) << "an abort without a line is none of a line";
  EXPECT_EQ(profile.line_count(), 2u);
  EXPECT_EQ(lines[0].line, LineAddr{20});
  EXPECT_EQ(lines[0].victim, kRelax);
  EXPECT_EQ(lines[1].line, LineAddr{10});
  EXPECT_EQ(lines[1].count, (AbortProfile::Count{6, 80}));
  EXPECT_EQ(lines[1].victim, kVisit) << "the pair that lost most there";
  EXPECT_EQ(lines[1].by, kVisit);
  EXPECT_EQ(profile.lines(1).size(), 1u);
}

TEST(AbortProfile, AddsUpPairsOfFunctionsOverLines) {
  AbortProfile profile;
  profile.add(AbortCause::conflict, kVisit, kRelax, LineAddr{1}, 10);
  profile.add(AbortCause::conflict, kVisit, kRelax, LineAddr{2}, 10);
  profile.add(AbortCause::locale, kVisit, kRelax, LineAddr{}, 10);
  profile.add(AbortCause::task_queue, kRelax, 0, LineAddr{}, 15);
  const auto pairs = profile.functions();
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_EQ(pairs[0].count, (AbortProfile::Count{2, 20}));
  EXPECT_EQ(pairs[0].cause, AbortCause::conflict);
  EXPECT_EQ(pairs[1].by, 0u);
  EXPECT_EQ(pairs[2].cause, AbortCause::locale);
}

TEST(AbortProfile, DoesNotDependOnTheOrderOfAbortsOfEqualCost) {
  AbortProfile forward, backward;
  for (std::uint64_t i = 1; i <= 2000; ++i) {
    forward.add(AbortCause::conflict, kVisit, kRelax, LineAddr{i}, 1);
    backward.add(AbortCause::conflict, kVisit, kRelax, LineAddr{2001 - i}, 1);
  }
  const auto a = forward.lines(2000), b = backward.lines(2000);
  ASSERT_EQ(a.size(), 2000u);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].line, LineAddr{i + 1});
    EXPECT_EQ(b[i].line, a[i].line);
  }
}

TEST(AbortProfile, AgreesWithItselfFromEverySide) {
  AbortProfile profile;
  Rng rng(7);
  AbortProfile::Count all, with_line;
  for (int i = 0; i < 10'000; ++i) {
    const auto cause = static_cast<AbortCause>(rng.below(kAbortCauses));
    const LineAddr line{cause == AbortCause::conflict ? 1 + rng.below(30) : 0};
    const std::uint64_t lost = rng.below(1000);
    profile.add(cause, rng.below(2) ? kVisit : kRelax, rng.below(2) ? kVisit : 0, line, lost);
    all += {1, lost};
    if (line != LineAddr{}) with_line += {1, lost};
  }
  AbortProfile::Count by_cause, by_line, by_functions;
  for (unsigned c = 0; c < kAbortCauses; ++c) by_cause += profile.of(static_cast<AbortCause>(c));
  for (const auto& row : profile.lines(10'000)) by_line += row.count;
  for (const auto& row : profile.functions()) by_functions += row.count;
  EXPECT_EQ(by_cause, all);
  EXPECT_EQ(by_functions, all);
  EXPECT_EQ(by_line, with_line);
  EXPECT_EQ(profile.line_count(), 30u);
}

}  // namespace
}  // namespace rubato::chip
