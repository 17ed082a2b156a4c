// Search among sorted keys, against the standard library's.
// SPDX-License-Identifier: MIT
#include "apps/ycsb/index/sorted_keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/rng.hpp"

namespace rubato::apps::ycsb::index {
namespace {

/// `count` different keys: even, or crowded at the lower end.
std::vector<Key> sorted_keys(Rng& rng, std::size_t count, bool is_even) {
  std::vector<Key> keys;
  while (keys.size() < count) {
    const Key key = rng();
    keys.push_back(is_even ? key : Key{1} << (key % 64) | (key >> 40));
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

template <unsigned window>
void compare_with_the_library() {
  Rng rng(1);
  for (const bool is_even : {true, false}) {
    for (std::size_t count = 0; count < 70; ++count) {
      const std::vector<Key> keys = sorted_keys(rng, count, is_even);
      const auto n = static_cast<unsigned>(keys.size());
      for (unsigned guess = 0; guess <= n; ++guess) {
        const Key key = rng.below(4) != 0 && n != 0 ? keys[rng.below(n)] : rng();
        const auto is_below = [key](Key k) { return k < key; };
        const auto expected = std::lower_bound(keys.begin(), keys.end(), key) - keys.begin();
        ASSERT_EQ(near<window>(keys, 0, n, guess, is_below), expected);
        ASSERT_EQ(halved(keys, 0, n, is_below), expected);
        const unsigned first = std::min(1u, n);
        ASSERT_EQ(near<window>(keys, first, n, guess, is_below), std::max<std::ptrdiff_t>(expected, first));
      }
    }
  }
}
TEST(SortedKeys, FindTheFirstThatIsNotBelowWhateverTheGuess) {
  compare_with_the_library<0>();
  compare_with_the_library<8>();
  compare_with_the_library<16>();
  compare_with_the_library<24>();
}

TEST(SortedKeys, NearTheGuessAreFoundInOneWindowOfTwoLines) {
  constexpr unsigned kKeys = 200, kReach = 4;
  alignas(kLineBytes) Key memory[8 + kKeys];
  for (unsigned i = 0; i < std::size(memory); ++i) memory[i] = i;
  for (unsigned offset = 0; offset < 8; ++offset) {
    const Key* const keys = memory + offset;
    for (unsigned guess = kReach; guess < kKeys - kReach; ++guess) {
      for (unsigned answer = guess - kReach + 1; answer <= guess + kReach; ++answer) {
        unsigned looks = 0;
        std::uintptr_t lowest = ~std::uintptr_t{0}, highest = 0;
        const unsigned found = near<16>(keys, 0, kKeys, guess, [&](const Key& k) {
          ++looks;
          lowest = std::min(lowest, reinterpret_cast<std::uintptr_t>(&k));
          highest = std::max(highest, reinterpret_cast<std::uintptr_t>(&k));
          return k < keys[answer];
        });
        ASSERT_EQ(found, answer);
        ASSERT_EQ(looks, 16u) << "guess " << guess << ", answer " << answer;
        const bool is_at_an_end = guess < 16 || guess + 16 > kKeys;
        ASSERT_LE(highest / kLineBytes - lowest / kLineBytes, is_at_an_end ? 2u : 1u);
      }
    }
  }
}

/// The rightmost node has no upper bound, and ascending insertions all go there.
TEST(SortedKeys, AreExpectedNearTheirPlaceAlsoInTheRightmostNode) {
  Key keys[100];
  for (unsigned i = 0; i < 100; ++i) keys[i] = 1000 + 10 * i;
  for (unsigned i = 0; i < 100; ++i) {
    EXPECT_NEAR(expected_position(keys, 100, 1000, 2000, keys[i]), i, 1.0);
    EXPECT_NEAR(expected_position(keys, 100, 1000, kNoKey, keys[i]), i, 2.0);
  }
  EXPECT_EQ(expected_position(keys, 100, 1000, kNoKey, 5000), 100u);
  EXPECT_EQ(expected_position(keys, 0, 1000, kNoKey, 5000), 0u);
}

/// A reader that loses sees keys of two states.
TEST(SortedKeys, OutOfOrderGiveAPositionAmongThem) {
  Rng rng(2);
  for (int i = 0; i < 10'000; ++i) {
    std::vector<Key> keys(rng.below(100));
    for (Key& key : keys) key = rng();
    const auto n = static_cast<unsigned>(keys.size());
    const Key key = rng();
    ASSERT_LE(near<16>(keys, 0, n, static_cast<unsigned>(rng.below(n + 1)), [&](Key k) { return k < key; }),
              n);
  }
}

}  // namespace
}  // namespace rubato::apps::ycsb::index
