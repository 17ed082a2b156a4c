// SPDX-License-Identifier: MIT
#include "cached/core/hash.hpp"

#include <xxhash.h>

#include <bit>
#include <cstring>

namespace rubato::cached {

// MurmurHash3_x86_32 with seed 0.
std::uint32_t hash_murmur3(std::string_view key) {
  constexpr std::uint32_t c1 = 0xcc9e2d51u, c2 = 0x1b873593u;
  const auto scrambled = [](std::uint32_t k) { return std::rotl(k * c1, 15) * c2; };
  std::uint32_t h = 0;
  const char* p = key.data();
  std::size_t left = key.size();
  for (; left >= 4; left -= 4, p += 4) {
    std::uint32_t k;
    std::memcpy(&k, p, 4);
    h = std::rotl(h ^ scrambled(k), 13) * 5 + 0xe6546b64u;
  }
  if (left) {
    std::uint32_t k = 0;
    std::memcpy(&k, p, left);
    h ^= scrambled(k);
  }
  h ^= static_cast<std::uint32_t>(key.size());
  h = (h ^ (h >> 16)) * 0x85ebca6bu;
  h = (h ^ (h >> 13)) * 0xc2b2ae35u;
  return h ^ (h >> 16);
}

// Jenkins' one-at-a-time function. No client sees which of his functions it is.
std::uint32_t hash_jenkins(std::string_view key) {
  std::uint32_t h = 0;
  for (const char byte : key) {
    h += static_cast<unsigned char>(byte);
    h += h << 10;
    h ^= h >> 6;
  }
  h += h << 3;
  h ^= h >> 11;
  return h + (h << 15);
}

std::uint32_t hash_xxh3(std::string_view key) {
  return static_cast<std::uint32_t>(XXH3_64bits(key.data(), key.size()));
}

HashFunction hash_named(std::string_view name) {
  if (name == "murmur3") return hash_murmur3;
  if (name == "jenkins") return hash_jenkins;
  if (name == "xxh3") return hash_xxh3;
  return nullptr;
}

}  // namespace rubato::cached
