// SPDX-License-Identifier: MIT
#include "apps/savina/random.hpp"

#include <gtest/gtest.h>

#include <set>

namespace rubato::apps::savina {
namespace {

TEST(SuiteRandom, BeginsAsComputedByHandAndHasThePublishedPeriod) {
  SuiteRandom random(1);
  EXPECT_EQ(random.next(), 15158u);  // 1309 + 13849
  EXPECT_EQ(random.next(), (15158u * 1309 + 13849) % 65536);
  SuiteRandom period(7);
  std::set<std::uint32_t> seen;
  for (unsigned i = 0; i < 65'536; ++i) seen.insert(period.next());
  EXPECT_EQ(seen.size(), 65'536u);
}

/// Numbers that java.util.Random of OpenJDK 17 returns, called in this order.
TEST(JavaRandom, ReturnsWhatJavaReturns) {
  JavaRandom random(123'456);
  EXPECT_EQ(random.next(), 1'774'763'047);
  EXPECT_EQ(random.below(100), 47);
  EXPECT_EQ(random.below(16), 15);
  EXPECT_EQ(random.next_long(), 8'670'230'595'820'048'397);
  EXPECT_FALSE(random.boolean());
  EXPECT_DOUBLE_EQ(random.fraction(), 0.7056636259919211);
  EXPECT_DOUBLE_EQ(random.gaussian(), -0.7853351077419337);
  EXPECT_DOUBLE_EQ(random.gaussian(), 0.06639773846637967);
}

}  // namespace
}  // namespace rubato::apps::savina
