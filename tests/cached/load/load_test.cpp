// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cached/load/latency.hpp"
#include "cached/load/plan.hpp"
#include "cached/load/wire.hpp"

namespace rubato::cached::load {
namespace {

TEST(Load, ZipfDrawsEachNumberAsOftenAsItsLawSays) {
  // Probabilities of 4 numbers with exponent 1: 1, 1/2, 1/3, 1/4 of 25/12.
  KeyChooser chooser(4, 1.0);
  Rng rng(1);
  constexpr int kDraws = 100'000;
  std::vector<int> drawn(4);
  for (int n = 0; n < kDraws; ++n) ++drawn[chooser.next(rng)];
  for (unsigned n = 0; n < 4; ++n)
    EXPECT_NEAR(drawn[n], kDraws * (1.0 / (n + 1)) / (25.0 / 12), 600) << n;  // 4 standard deviations
}

TEST(Load, WithExponentZeroAllKeysAreAlike) {
  KeyChooser chooser(10, 0);
  Rng rng(1);
  std::vector<int> drawn(10);
  for (int n = 0; n < 100'000; ++n) ++drawn[chooser.next(rng)];
  for (const int times : drawn) EXPECT_NEAR(times, 10'000, 400);
}

TEST(Load, KeysHaveTheirSizeAndSayTheirNumber) {
  EXPECT_EQ(key_text(42, 8), "k0000042");
  EXPECT_EQ(key_number("k0000042"), 42u);
  for (const char* wrong : {"", "k", "x42", "k4x", "42"})
    EXPECT_EQ(key_number(wrong), ~std::uint64_t{0}) << wrong;
}

TEST(Load, AValueIsRightForItsKeyAloneAndNotWithOneByteChanged) {
  for (const auto& [least, most] : {std::pair<std::size_t, std::size_t>{5, 5}, {16, 16}, {100, 3000}}) {
    const Values values(least, most);
    std::string value;
    values.append(value, 7, 0x123456789abcdef0);
    EXPECT_TRUE(values.right(7, value));
    EXPECT_EQ(values.right(8, value), most == 16);  // 16 bytes are the seed alone
    EXPECT_FALSE(values.right(7, value + "x"));
    value.back() = value.back() == '0' ? '1' : '0';
    EXPECT_EQ(values.right(7, value), most == 16);
  }
}

TEST(Load, SharesOfLatenciesAreExactBelow128AndOneSixtyFourthAbove) {
  Latencies latencies;
  for (std::uint64_t n = 1; n <= 100; ++n) latencies.add(n);
  EXPECT_EQ(latencies.at_share(0.5), 50u);
  EXPECT_EQ(latencies.at_share(0.99), 99u);
  EXPECT_EQ(latencies.at_share(1), 100u);
  Latencies large;
  for (int n = 0; n < 999; ++n) large.add(1'000'000);
  large.add(50'000'000);
  EXPECT_GE(large.at_share(0.999), 1'000'000u);
  EXPECT_LE(large.at_share(0.999), 1'000'000u + 1'000'000 / 64);
  EXPECT_EQ(large.at_share(1), 50'000'000u);
  large.merge(latencies);
  EXPECT_EQ(large.count(), 1100u);
  EXPECT_EQ(large.at_share(0.05), 55u);
}

/// Reads one whole answer that arrives byte by byte: what was read is the same as at once.
std::vector<Part> read_all(const Wire& wire, const std::string& data, bool many = false) {
  std::vector<Part> parts;
  for (std::size_t at = 0; at < data.size();) {
    Part part;
    for (std::size_t n = 0; at + n <= data.size() && !part.used; ++n)
      part = wire.read(std::string_view(data).substr(at, n), many);
    if (!part.used) break;
    parts.push_back(part);
    at += part.used;
  }
  return parts;
}

TEST(Load, TextAnswersAreReadHoweverTheyArrive) {
  const auto wire = make_wire(Protocol::text);
  const std::string data =
      "VALUE k1 0 4\r\na\r\nb\r\nVALUE k2 0 0\r\n\r\nEND\r\nSTORED\r\nSERVER_ERROR no\r\n";
  const auto parts = read_all(*wire, data);
  ASSERT_EQ(parts.size(), 5u);
  EXPECT_EQ(parts[0].key, "k1");
  EXPECT_EQ(parts[0].value, "a\r\nb");
  EXPECT_FALSE(parts[1].last);
  EXPECT_TRUE(parts[1].has_value && parts[1].value.empty());
  EXPECT_TRUE(parts[2].last && !parts[2].has_value && parts[2].failure.empty());
  EXPECT_TRUE(parts[3].last && parts[3].failure.empty());
  EXPECT_EQ(parts[4].failure, "SERVER_ERROR no");
}

TEST(Load, MetaAnswersOfManyKeysEndWithMn) {
  const auto wire = make_wire(Protocol::meta);
  const std::string answer = "VA 1 kk7\r\nx\r\nMN\r\n";
  const auto many = read_all(*wire, answer, true);
  ASSERT_EQ(many.size(), 2u);
  EXPECT_TRUE(many[0].has_value && !many[0].last && many[0].key == "k7");
  EXPECT_TRUE(many[1].last && !many[1].has_value);
  const std::string data = "VA 2 kk8\r\nab\r\nEN\r\nHD\r\nNS\r\n";
  const auto parts = read_all(*wire, data);
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_TRUE(parts[0].has_value && parts[0].last && parts[0].value == "ab");
  EXPECT_TRUE(parts[1].last && parts[2].last && parts[2].failure.empty());
  EXPECT_EQ(parts[3].failure, "NS");
}

TEST(Load, BinaryMissesAreNoErrors) {
  const auto wire = make_wire(Protocol::binary);
  std::string miss(24, '\0'), hit(24, '\0');
  miss[0] = hit[0] = '\x81', miss[1] = hit[1] = 0x0c;
  miss[7] = 1;
  hit[3] = 2, hit[4] = 4, hit[11] = 9;
  hit += std::string(4, '\0') + "k1abc";
  const std::string data = miss + hit;
  const auto parts = read_all(*wire, data);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_TRUE(parts[0].last && !parts[0].has_value && parts[0].failure.empty());
  EXPECT_TRUE(parts[1].last && parts[1].key == "k1" && parts[1].value == "abc");
}

}  // namespace
}  // namespace rubato::cached::load
