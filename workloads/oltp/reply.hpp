// What a client is sent: fields in the client's own code, as a database converts them. Four kinds of client,
// each with conversions of its own.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace rubato::workloads::oltp {

enum class Client : std::uint8_t { ascii, utf16, ebcdic, binary };
constexpr unsigned kClients = 4;

/// Code page 037 of blanks, digits and letters.
constexpr std::array<std::uint8_t, 256> kEbcdic = [] {
  std::array<std::uint8_t, 256> code{};
  code.fill(0x6f);
  code[' '] = 0x40;
  for (unsigned i = 0; i < 10; ++i) code['0' + i] = static_cast<std::uint8_t>(0xf0 + i);
  for (unsigned i = 0; i < 26; ++i) {
    const unsigned zone = i < 9 ? 0x81 + i : i < 18 ? 0x91 + i - 9 : 0xa2 + i - 18;
    code['a' + i] = static_cast<std::uint8_t>(zone);
    code['A' + i] = static_cast<std::uint8_t>(zone + 0x40);
  }
  return code;
}();

/// Eight characters for the client; UTF-16 takes two words.
template <Client F>
constexpr unsigned words_of_text(unsigned words) {
  return F == Client::utf16 ? 2 * words : words;
}

/// The bytes 0 to 3 of a word as four little-endian UTF-16 characters.
constexpr std::uint64_t widened(std::uint32_t four) {
  std::uint64_t x = four;
  x = (x | (x << 16)) & 0x0000ffff0000ffffULL;
  return (x | (x << 8)) & 0x00ff00ff00ff00ffULL;
}

template <Client F>
[[gnu::always_inline]] constexpr void put_text(std::uint64_t* to, std::uint64_t word) {
  if constexpr (F == Client::ascii) {
    // Clients do without control characters: a byte below a blank becomes one.
    const std::uint64_t is_low =
        ~((word & 0x7f7f7f7f7f7f7f7fULL) + 0x6060606060606060ULL) & ~word & 0x8080808080808080ULL;
    *to = word | (is_low >> 2);
  } else if constexpr (F == Client::utf16) {
    to[0] = widened(static_cast<std::uint32_t>(word));
    to[1] = widened(static_cast<std::uint32_t>(word >> 32));
  } else if constexpr (F == Client::ebcdic) {
    std::uint64_t out = 0;
    for (unsigned byte = 0; byte < 8; ++byte)
      out |= static_cast<std::uint64_t>(kEbcdic[(word >> (8 * byte)) & 0xff]) << (8 * byte);
    *to = out;
  } else {
    *to = __builtin_bswap64(word);
  }
}

constexpr unsigned kDigits = 12;
template <Client F>
constexpr unsigned kWordsOfNumber = F == Client::utf16    ? 4
                                    : F == Client::binary ? 1
                                                          : 2;

/// A number as a sign and eleven digits; packed of two digits a byte for EBCDIC, a word for binary clients.
template <Client F>
[[gnu::always_inline]] constexpr void put_number(std::uint64_t* to, std::uint64_t number) {
  const bool is_negative = static_cast<std::int64_t>(number) < 0;
  std::uint64_t rest = is_negative ? 0 - number : number;
  if constexpr (F == Client::binary) {
    *to = __builtin_bswap64(number);
  } else {
    std::array<std::uint64_t, kWordsOfNumber<F>> out{};
    constexpr unsigned kBits = F == Client::utf16 ? 16 : F == Client::ascii ? 8 : 4;
    constexpr std::uint64_t kZero = F == Client::ebcdic ? 0 : '0';
    constexpr unsigned kPerWord = 64 / kBits;
#pragma GCC unroll 16
    for (unsigned i = kDigits - 1; i > 0; --i) {
      out[i / kPerWord] |= (rest % 10 + kZero) << (kBits * (i % kPerWord));
      rest /= 10;
    }
    constexpr std::uint64_t kMinus = F == Client::ebcdic ? 0xd : '-', kPlus = F == Client::ebcdic ? 0xc : ' ';
    out[0] |= is_negative ? kMinus : kPlus;
    for (unsigned i = 0; i < out.size(); ++i) to[i] = out[i];
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
    for (std::size_t i = 0; i < used_; ++i) sum = std::rotl(sum, 5) ^ data_[i];
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
