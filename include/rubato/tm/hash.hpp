// Hash functions that transactions may call: std::hash of a floating-point number or a string calls a
// function of libstdc++ that has no transactional form.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

namespace rubato::tm {
namespace detail {

/// Spreads a change of any bit over all bits: the finalizer of MurmurHash3.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 33) * 0xff51'afd7'ed55'8ccdU;
  x = (x ^ x >> 33) * 0xc4ce'b9fe'1a85'ec53U;
  return x ^ x >> 33;
}

/// Hash of bytes, eight at a time. The last word is filled up with zeros, and the length is a part of the
/// hash.
[[gnu::noinline]] inline std::uint64_t hash_bytes(const char* bytes, std::size_t count) {
  std::uint64_t hash = mix(count + 1), word = 0;
  for (; count >= 8; count -= 8, bytes += 8) {
    std::memcpy(&word, bytes, 8);
    hash = mix(hash ^ word) + 0x9e37'79b9'7f4a'7c15U;
  }
  word = 0;
  for (std::size_t i = 0; i < count; ++i)
    word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << 8 * i;
  return mix(hash ^ word);
}

}  // namespace detail

/// Hash of integers, enumerations, pointers, floating-point numbers and rubato::tm::string. Of other types it
/// is std::hash, whose specialization must be inline or `transaction_safe`.
template <class Key>
struct hash {
  /// The hash of a key.
  std::size_t operator()(const Key& key) const {
    if constexpr (std::is_integral_v<Key> || std::is_enum_v<Key>) {
      return detail::mix(static_cast<std::uint64_t>(key));
    } else if constexpr (std::is_pointer_v<Key>) {
      return detail::mix(reinterpret_cast<std::uintptr_t>(key));
    } else if constexpr (std::is_same_v<Key, float> || std::is_same_v<Key, double>) {
      const double value = key == 0 ? 0.0 : static_cast<double>(key);  // 0.0 and -0.0 are equal
      std::uint64_t word = 0;
      std::memcpy(&word, &value, sizeof(word));
      return detail::mix(word);
    } else {
      return std::hash<Key>()(key);
    }
  }
};

}  // namespace rubato::tm
