// The plan of a run of rubato-load: its options, and the next key and value.
//
// A value is a function of its key and of a seed that is written in front of it, so that any answer can be
// verified without a record of stored values. It is a piece of one random text that begins at a place
// computed from key and seed.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/rng.hpp"
#include "cached/tls/tls.hpp"

namespace rubato::cached::load {

enum class Protocol : std::uint8_t { text, meta, binary };

struct Plan {
  std::string host = "127.0.0.1", port = "11211", socket;
  Protocol protocol = Protocol::text;
  unsigned threads = 1, connections = 16;
  unsigned in_flight = 1;  ///< requests of a connection that are not yet answered
  unsigned keys_a_get = 1;
  std::uint64_t keys = 100000;
  double zipf = 0;  ///< exponent; 0: all keys alike
  double sets = 0.1;
  std::size_t key_size = 16, smallest_value = 100, largest_value = 100;
  double rate = 0;  ///< requests a second in all, at moments fixed before; 0: the next when an answer came
  double seconds = 10, warm_up = 0;
  std::uint64_t requests = 0;  ///< in all; 0: as long as `seconds` say
  unsigned verify_every = 16;  ///< of the values that come back; 0: none
  bool fill = true;            ///< store every key once before
  std::uint64_t seed = 1;
  TlsClientSettings tls;
};

/// Key numbers, all alike or by Zipf's law: the number n + 1 has probability proportional to (n +
/// 1)^-exponent.
class KeyChooser {
 public:
  KeyChooser(std::uint64_t keys, double exponent);
  std::uint64_t next(Rng& rng);

 private:
  double integral(double x) const;
  double inverse(double area) const;
  std::uint64_t keys_;
  double exponent_, low_ = 0, high_ = 0;
};

std::string key_text(std::uint64_t number, std::size_t size);
/// The number of such a key, or ~0.
std::uint64_t key_number(std::string_view key);

class Values {
 public:
  Values(std::size_t smallest, std::size_t largest);
  /// A value of the key; what is drawn decides size and content.
  void append(std::string& to, std::uint64_t key, std::uint64_t drawn) const;
  std::size_t size(std::uint64_t drawn) const { return smallest_ + drawn % (largest_ - smallest_ + 1); }
  bool right(std::uint64_t key, std::string_view value) const;

 private:
  static constexpr std::size_t kSeedDigits = 16, kStarts = std::size_t{1} << 16;
  std::string_view piece(std::uint64_t key, std::uint64_t seed, std::size_t size) const;
  std::size_t smallest_, largest_;
  std::string text_;
};

}  // namespace rubato::cached::load
