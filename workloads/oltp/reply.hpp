// Reply to a client: fields in the client's own code, as a database converts them. There are eight kinds of
// client, each with conversions of its own.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rubato::workloads::oltp {

/// ascii in upper case only, for old terminals; UTF-16 of both orders of bytes; two code pages of EBCDIC.
enum class Client : std::uint8_t { ascii, upper, utf16_le, utf16_be, utf32, ebcdic_037, ebcdic_500, binary };
constexpr unsigned kClients = 8;

constexpr bool is_utf16(Client f) { return f == Client::utf16_le || f == Client::utf16_be; }
constexpr bool is_ebcdic(Client f) { return f == Client::ebcdic_037 || f == Client::ebcdic_500; }

/// Blanks, digits, letters and some signs; all else becomes a question mark.
constexpr std::array<std::uint8_t, 256> ebcdic_table(Client f) {
  std::array<std::uint8_t, 256> code{};
  code.fill(0x6f);
  code[' '] = 0x40;
  code['.'] = 0x4b;
  code['-'] = 0x60;
  code['!'] = f == Client::ebcdic_037 ? 0x5a : 0x4f;
  code['|'] = f == Client::ebcdic_037 ? 0x4f : 0xbb;
  for (unsigned i = 0; i < 10; ++i) code['0' + i] = static_cast<std::uint8_t>(0xf0 + i);
  for (unsigned i = 0; i < 26; ++i) {
    const unsigned zone = i < 9 ? 0x81 + i : i < 18 ? 0x91 + i - 9 : 0xa2 + i - 18;
    code['a' + i] = static_cast<std::uint8_t>(zone);
    code['A' + i] = static_cast<std::uint8_t>(zone + 0x40);
  }
  return code;
}
template <Client F>
constexpr std::array<std::uint8_t, 256> kEbcdic = ebcdic_table(F);

/// Words that the client gets for eight characters, and for a number.
constexpr unsigned words_of_text(Client f) { return f == Client::utf32 ? 4 : is_utf16(f) ? 2 : 1; }
constexpr unsigned words_of_number(Client f) { return f == Client::binary ? 1 : 2 * words_of_text(f); }

/// The bytes 0 to 3 of a word as four 16-bit numbers, the 16-bit numbers 0 and 1 as two 32-bit ones.
constexpr std::uint64_t widened(std::uint64_t four) {
  std::uint64_t x = four & 0xffffffffU;
  x = (x | (x << 16)) & 0x0000ffff0000ffffULL;
  return (x | (x << 8)) & 0x00ff00ff00ff00ffULL;
}
constexpr std::uint64_t widened_twice(std::uint64_t two) { return (two & 0xffff) | (two & 0xffff0000) << 16; }

template <Client F>
[[gnu::always_inline]] constexpr void put_text(std::uint64_t* to, std::uint64_t word) {
  if constexpr (F == Client::ascii) {
    // Clients do without control characters: a byte below a blank gets the blank's bit.
    const std::uint64_t is_low =
        ~((word & 0x7f7f7f7f7f7f7f7fULL) + 0x6060606060606060ULL) & ~word & 0x8080808080808080ULL;
    *to = word | (is_low >> 2);
  } else if constexpr (F == Client::upper) {
    const std::uint64_t low = word & 0x7f7f7f7f7f7f7f7fULL;
    const std::uint64_t is_lower =
        (low + 0x1f1f1f1f1f1f1f1fULL) & ~(low + 0x0505050505050505ULL) & ~word & 0x8080808080808080ULL;
    *to = word ^ (is_lower >> 2);
  } else if constexpr (is_utf16(F)) {
    constexpr unsigned kShift = F == Client::utf16_be ? 8 : 0;
    to[0] = widened(word) << kShift;
    to[1] = widened(word >> 32) << kShift;
  } else if constexpr (F == Client::utf32) {
    const std::uint64_t low = widened(word), high = widened(word >> 32);
    to[0] = widened_twice(low);
    to[1] = widened_twice(low >> 32);
    to[2] = widened_twice(high);
    to[3] = widened_twice(high >> 32);
  } else if constexpr (is_ebcdic(F)) {
    std::uint64_t out = 0;
    for (unsigned byte = 0; byte < 8; ++byte)
      out |= static_cast<std::uint64_t>(kEbcdic<F>[(word >> (8 * byte)) & 0xff]) << (8 * byte);
    *to = out;
  } else {
    *to = __builtin_bswap64(word);
  }
}

/// A number as text of a sign and eleven digits in two words; a word for binary clients.
template <Client F>
[[gnu::always_inline]] constexpr void put_number(std::uint64_t* to, std::uint64_t number) {
  if constexpr (F == Client::binary) {
    *to = __builtin_bswap64(number);
  } else {
    constexpr unsigned kCharacters = 12;
    const bool is_negative = static_cast<std::int64_t>(number) < 0;
    std::uint64_t rest = is_negative ? 0 - number : number;
    std::array<std::uint64_t, 2> out{0x2020202020202020ULL, 0x2020202020202020ULL};  // blanks
#pragma GCC unroll 16
    for (unsigned i = kCharacters - 1; i > 0; --i) {
      out[i / 8] ^= (rest % 10 + ('0' ^ ' ')) << (8 * (i % 8));
      rest /= 10;
      if (rest == 0) break;
    }
    if (is_negative) out[0] ^= '-' ^ ' ';
    put_text<F>(to, out[0]);
    put_text<F>(to + words_of_text(F), out[1]);
  }
}

class Reply {
 public:
  /// Room for a field, which the caller fills.
  std::uint64_t* field(std::uint64_t tag, unsigned words) {
    if (used_ + words + 1 > data_.size()) send();
    std::uint64_t* at = &data_[used_];
    used_ += words + 1;
    *at = tag;
    ++fields_;
    return at + 1;
  }
  /// To the client: here, into a checksum.
  void send() {
    std::uint64_t sum = sum_;
    for (std::size_t i = 0; i < used_; ++i) sum = sum * 3 + data_[i];
    sum_ = sum;
    used_ = 0;
  }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }
  [[nodiscard]] std::uint64_t fields() const { return fields_; }

 private:
  std::array<std::uint64_t, 512> data_{};
  std::size_t used_ = 0;
  std::uint64_t sum_ = 0, fields_ = 0;
};

}  // namespace rubato::workloads::oltp
