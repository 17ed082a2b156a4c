// Stores that are kept until commit: what may be read from memory without a look-up (T43).
// SPDX-License-Identifier: MIT
#include "tm/log/write_set.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace rubato::tm {

void restart_without_memory() { std::abort(); }

namespace {

TEST(WriteSet, SurelyLacksEverythingWhileItIsEmpty) {
  static WriteSet writes;  // logs live as long as their thread, and give nothing back
  EXPECT_TRUE(writes.surely_lacks(64, 8));
  EXPECT_TRUE(writes.surely_lacks(65, 8));
  writes.write(64, 4, 1, false);
  writes.clear();
  EXPECT_TRUE(writes.surely_lacks(64, 8));
}
TEST(WriteSet, LacksNothingThatWasWritten) {
  static WriteSet writes;  // logs live as long as their thread, and give nothing back
  for (std::uintptr_t word = 0; word < 1000; ++word) {
    const std::uintptr_t address = 4096 + 24 * word;
    writes.write(address + word % 8, 1, 7, false);
    for (unsigned byte = 0; byte < 8; ++byte) EXPECT_FALSE(writes.surely_lacks(address + byte, 1));
    EXPECT_FALSE(writes.surely_lacks(address, 8));
  }
}
TEST(WriteSet, LacksMostOfWhatWasNot) {
  static WriteSet writes;  // logs live as long as their thread, and give nothing back
  writes.write(4096, 8, 7, false);
  int lacking = 0;
  for (std::uintptr_t word = 1; word <= 1000; ++word) lacking += writes.surely_lacks(4096 + 8 * word, 8);
  EXPECT_GT(lacking, 950);
}
TEST(WriteSet, WhatCrossesAWordHasToBeLookedUp) {
  static WriteSet writes;  // logs live as long as their thread, and give nothing back
  writes.write(4096, 8, 7, false);
  for (std::uintptr_t word = 1; word <= 100; ++word) {
    EXPECT_FALSE(writes.surely_lacks(8192 + 8 * word + 1, 8));
    EXPECT_FALSE(writes.surely_lacks(8192 + 8 * word + 7, 2));
  }
}

}  // namespace
}  // namespace rubato::tm
