// Names of guest addresses and lines.
// SPDX-License-Identifier: MIT
#include "chip/os/symbols.hpp"

#include <gtest/gtest.h>

namespace rubato::chip {
namespace {

Symbols two_variables() {
  return Symbols({{.address = 0x1008, .size = 16, .name = {}, .raw = "counter", .is_function = false},
                  {.address = 0x1018, .size = 0x100, .name = {}, .raw = "table", .is_function = false}});
}

TEST(Symbols, NameAnAddressByTheSymbolThatCoversIt) {
  const Symbols symbols = two_variables();
  EXPECT_EQ(symbols.describe(Addr{0x1008}), "counter");
  EXPECT_EQ(symbols.describe(Addr{0x100c}), "counter+0x4");
  EXPECT_EQ(symbols.describe(Addr{0x1000}), "0x1000");
}

TEST(Symbols, NameALineByTheSymbolsInIt) {
  const Symbols symbols = two_variables();
  EXPECT_EQ(symbols.describe(LineAddr{0x1000 >> kLineBits}), "counter, table");
  EXPECT_EQ(symbols.describe(LineAddr{0x1040 >> kLineBits}), "table+0x28");
  EXPECT_EQ(symbols.describe(LineAddr{0x8000 >> kLineBits}), "0x8000");
}

}  // namespace
}  // namespace rubato::chip
