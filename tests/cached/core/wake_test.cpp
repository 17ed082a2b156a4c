// A post ends the wait that comes next, by either kind, and only that one.
// SPDX-License-Identifier: MIT
#include "cached/core/wake.hpp"

#include <gtest/gtest.h>

namespace rubato::cached {
namespace {

template <class W>
class Wakes : public testing::Test {};
using Kinds = testing::Types<SemaphoreWake, ConditionWake>;
TYPED_TEST_SUITE(Wakes, Kinds);

TYPED_TEST(Wakes, EndTheWaitThatComesNext) {
  TypeParam wake;
  EXPECT_FALSE(wake.wait_for(std::chrono::microseconds(1)));
  wake.post();
  EXPECT_TRUE(wake.wait_for(std::chrono::hours(1)));
  EXPECT_FALSE(wake.wait_for(std::chrono::microseconds(1)));
}

}  // namespace
}  // namespace rubato::cached
