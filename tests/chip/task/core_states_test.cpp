// The masks of core states agree with the states, whatever changes in which order.
// SPDX-License-Identifier: MIT
#include "chip/task/core_states.hpp"

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace rubato::chip {
namespace {

TEST(CoreStates, MasksAgreeWithTheStates) {
  constexpr std::uint32_t kCores = 5;
  CoreStates states(kCores);
  EXPECT_EQ(states.in(CoreState::busy), 0b11111u);
  EXPECT_EQ(states.asking(), 0b11111u);
  Rng rng(7);
  for (int round = 0; round < 1000; ++round) {
    const auto slot = static_cast<std::uint32_t>(rng.below(kCores));
    const auto state = static_cast<CoreState>(rng.below(kCoreStates));
    states.set(slot, state);
    EXPECT_EQ(states[slot], state);
    std::uint32_t asking = 0;
    for (std::uint32_t s = 0; s < kCores; ++s) {
      asking |= states[s] <= CoreState::rolling_back ? 1U << s : 0;
      for (std::size_t i = 0; i < kCoreStates; ++i) {
        const auto other = static_cast<CoreState>(i);
        EXPECT_EQ(states.in(other) >> s & 1, states[s] == other ? 1u : 0u);
      }
    }
    EXPECT_EQ(states.asking(), asking);
  }
  states.reset();
  EXPECT_EQ(states.in(CoreState::busy), 0b11111u);
}

}  // namespace
}  // namespace rubato::chip
