// Numbers of the text protocol: which words are one.
// SPDX-License-Identifier: MIT
#include "cached/protocol/numbers.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

namespace rubato::cached {
namespace {

template <class N>
std::optional<N> read(std::string_view word) {
  N value{};
  return to_number(word, value) ? std::optional(value) : std::nullopt;
}

TEST(Numbers, HaveOneSignAtMost) {
  EXPECT_EQ(read<std::int32_t>("+7"), 7);
  EXPECT_EQ(read<std::int32_t>("-7"), -7);
  EXPECT_EQ(read<std::uint64_t>("+7"), 7u);
  for (const char* wrong : {"+-7", "++7", "-+7", "--7", "+", "-", "+ 7"}) {
    EXPECT_EQ(read<std::int32_t>(wrong), std::nullopt) << wrong;
    EXPECT_EQ(read<std::uint32_t>(wrong), std::nullopt) << wrong;
    EXPECT_EQ(read<double>(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(read<std::uint32_t>("-7"), std::nullopt);
}

TEST(Numbers, FitTheirTypes) {
  EXPECT_EQ(read<std::uint32_t>("4294967295"), 4294967295u);
  EXPECT_EQ(read<std::uint32_t>("4294967296"), std::nullopt);
  EXPECT_EQ(read<std::int32_t>("-2147483648"), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(read<std::int32_t>("2147483648"), std::nullopt);
  EXPECT_EQ(read<std::uint64_t>("18446744073709551616"), std::nullopt);
}

TEST(Numbers, AreFinite) {
  EXPECT_EQ(read<double>("0.5"), 0.5);
  EXPECT_EQ(read<double>("1e300"), 1e300);
  for (const char* wrong : {"nan", "NAN", "-nan", "inf", "-inf", "infinity", "1e400"})
    EXPECT_EQ(read<double>(wrong), std::nullopt) << wrong;
}

TEST(Numbers, EndAtWhiteSpaceAlone) {
  EXPECT_EQ(read<std::uint32_t>("\t7\rx"), 7u);
  for (const char* wrong : {"7x", "7.5", "0x7", "7,", ""})
    EXPECT_EQ(read<std::uint32_t>(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace rubato::cached
