// SPDX-License-Identifier: MIT
#include "workloads/oltp/reply.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace rubato::workloads::oltp {
namespace {

std::uint64_t word_of(const char* eight) {
  std::uint64_t word = 0;
  std::memcpy(&word, eight, sizeof word);
  return word;
}
template <Client F>
std::string text_for(const char* eight) {
  std::vector<std::uint64_t> words(words_of_text(F));
  put_text<F>(words.data(), word_of(eight));
  return {reinterpret_cast<const char*>(words.data()), 8 * words.size()};  // NOLINT: bytes of words
}
template <Client F>
std::string number_for(std::int64_t number) {
  std::vector<std::uint64_t> words(words_of_number(F));
  put_number<F>(words.data(), static_cast<std::uint64_t>(number));
  return {reinterpret_cast<const char*>(words.data()), 8 * words.size()};  // NOLINT
}
std::string spread(const std::string& text, unsigned bytes, unsigned at) {
  std::string wide(text.size() * bytes, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) wide[i * bytes + at] = text[i];
  return wide;
}

TEST(Reply, TextIsInTheClientsCode) {
  EXPECT_EQ(text_for<Client::ascii>("a\tZ[`{0~"), "a)Z[`{0~");
  EXPECT_EQ(text_for<Client::upper>("a@Z[`{z0"), "A@Z[`{Z0");
  EXPECT_EQ(text_for<Client::utf16_le>("abcdEF 9"), spread("abcdEF 9", 2, 0));
  EXPECT_EQ(text_for<Client::utf16_be>("abcdEF 9"), spread("abcdEF 9", 2, 1));
  EXPECT_EQ(text_for<Client::utf32>("abcdEF 9"), spread("abcdEF 9", 4, 0));
  EXPECT_EQ(text_for<Client::ebcdic_037>("aiJRsz0!"), "\x81\x89\xd1\xd9\xa2\xa9\xf0\x5a");
  EXPECT_EQ(text_for<Client::ebcdic_500>("AIjrSZ9!"), "\xc1\xc9\x91\x99\xe2\xe9\xf9\x4f");
  EXPECT_EQ(text_for<Client::binary>("abcdefgh"), "hgfedcba");
}

TEST(Reply, NumbersHaveElevenDigitsAndASign) {
  EXPECT_EQ(number_for<Client::ascii>(0), "           0    ");
  EXPECT_EQ(number_for<Client::ascii>(1234567), "     1234567    ");
  EXPECT_EQ(number_for<Client::ascii>(-1000), "-       1000    ");
  EXPECT_EQ(number_for<Client::upper>(99'999'999'999), " 99999999999    ");
  EXPECT_EQ(number_for<Client::utf16_be>(-70), spread("-         70    ", 2, 1));
  EXPECT_EQ(number_for<Client::ebcdic_037>(5).substr(10), "\x40\xf5\x40\x40\x40\x40");
  EXPECT_EQ(number_for<Client::binary>(258), std::string("\0\0\0\0\0\0\1\2", 8));
}

}  // namespace
}  // namespace rubato::workloads::oltp
