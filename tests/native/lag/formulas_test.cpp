// A37, A41 and A53: the publication's formulas and the numbers that it gives for them.
// SPDX-License-Identifier: MIT
#include "native/lag/formulas.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace {

using namespace rubato::native::lag;

TEST(Lag_Formulas, TheSampleSizeOfTheoremTwo) {
  EXPECT_NEAR(normal_quantile(0.975), 1.95996, 1e-5);
  EXPECT_EQ(sample_size(0.95, 0.15), 43u);
  EXPECT_EQ(sample_size(0.99, 0.1), 166u);
}

TEST(Lag_Formulas, AConfidenceOrAnErrorThatIsNoneIsRefused) {
  for (const double wrong : {0.0, 1.0, -0.1, 1.5}) {
    EXPECT_THROW(sample_size(wrong, 0.15), std::invalid_argument);
    EXPECT_THROW(sample_size(0.95, wrong), std::invalid_argument);
  }
}

TEST(Lag_Formulas, TheEfficiencyOfTheoremThree) {
  EXPECT_NEAR(efficiency(0.1, 0, 0.9), 0.2, 1e-12);  // five times as fast
  EXPECT_NEAR(efficiency(0.1, 1, 0.9), 0.6, 1e-12);
  EXPECT_NEAR(efficiency(0.4, 3, 0.4), 1, 1e-12);  // Corollary 1: nothing is gained at equality
}

TEST(Lag_Formulas, TheRateOfLemmaThree) {
  EXPECT_EQ(sampling_rate(0.002, 0.5, 0.1), 1);  // 1.6
  EXPECT_NEAR(sampling_rate(0.002, 0.2, 0.1), 0.1 / 0.64, 1e-12);
  EXPECT_EQ(sampling_rate(0.002, 0, 0), 0.002);
  EXPECT_EQ(sampling_rate(0.002, 0.3, 0.5), 0.002);  // the delay in force costs more than it gains
  EXPECT_EQ(sampling_rate(0.002, 1, 0), 1);
}

TEST(Lag_Formulas, MessagesUntilTheDecision) {
  EXPECT_NEAR(messages_at_initial_rate(43, 0.01), 4300, 1e-9);
  EXPECT_NEAR(most_messages(43, 0.01, 0.9), 496.9, 0.05);
  EXPECT_NEAR(fewest_messages(43, 0.01, 0.9), 468.7, 0.05);
  // The process itself is far from both (E12).
  EXPECT_NEAR(mean_messages(43, 0.01, 0.9, true), 54.0, 0.05);
  EXPECT_NEAR(mean_messages(43, 0.01, 0.9, false), 153.0, 0.05);
}

TEST(Lag_Formulas, TheBoundOfTheSlowdown) {
  EXPECT_NEAR(least_speed(1, 0), 0.5, 1e-12);  // "by at most 50 %"
  EXPECT_NEAR(least_speed(0.01, 0), 0.990, 0.0005);
}

}  // namespace
