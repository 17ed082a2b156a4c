// SPDX-License-Identifier: MIT
#include "base/sha256.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>

namespace rubato {
namespace {

using Words = std::array<std::uint32_t, 8>;

/// Round constants: the first 32 fraction bits of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2).
constexpr std::array<std::uint32_t, 64> kRounds = [] {
  // Integer cube root of prime * 2^96, whose low 32 bits are the fraction; __int128 holds x^3 only below
  // 2^42, so the root is built bit by bit on prime * 2^96 <= 311 * 2^96 < 2^105.
  std::array<std::uint32_t, 64> k{};
  std::uint32_t found = 0;
  for (std::uint32_t n = 2; found < 64; ++n) {
    bool is_prime = true;
    for (std::uint32_t d = 2; d * d <= n; ++d) is_prime = is_prime && n % d != 0;
    if (!is_prime) continue;
    const unsigned __int128 target = static_cast<unsigned __int128>(n) << 96;
    std::uint64_t root = 0;
    for (int bit = 34; bit >= 0; --bit) {
      const std::uint64_t next = root | (std::uint64_t{1} << bit);
      const auto wide = static_cast<unsigned __int128>(next);
      if (wide * wide * wide <= target) root = next;
    }
    k[found++] = static_cast<std::uint32_t>(root);
  }
  return k;
}();

void compress(Words& state, const unsigned char* block) {
  std::array<std::uint32_t, 64> w{};
  for (unsigned i = 0; i < 16; ++i) {
    w[i] = std::uint32_t{block[4 * i]} << 24 | std::uint32_t{block[4 * i + 1]} << 16 |
           std::uint32_t{block[4 * i + 2]} << 8 | std::uint32_t{block[4 * i + 3]};
  }
  for (unsigned i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  // Unrolled: the words are renamed instead of moved. Every simulation starts with the digest of its program,
  // which has some megabytes.
#pragma GCC unroll 64
  for (unsigned i = 0; i < 64; ++i) {
    const std::uint32_t s1 = std::rotr(std::rotr(std::rotr(e, 14) ^ e, 5) ^ e, 6);  // 6, 11, 25
    const std::uint32_t s0 = std::rotr(std::rotr(std::rotr(a, 9) ^ a, 11) ^ a, 2);  // 2, 13, 22
    const std::uint32_t t1 = h + s1 + (g ^ (e & (f ^ g))) + kRounds[i] + w[i];
    const std::uint32_t t2 = s0 + ((a & b) | (c & (a | b)));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const Words add{a, b, c, d, e, f, g, h};
  for (unsigned i = 0; i < 8; ++i) state[i] += add[i];
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  Words state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  for (; left >= 64; data += 64, left -= 64) compress(state, data);
  std::array<unsigned char, 128> tail{};
  for (std::size_t i = 0; i < left; ++i) tail[i] = data[i];
  tail[left] = 0x80;
  const std::size_t padded = left < 56 ? 64 : 128;
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (unsigned i = 0; i < 8; ++i) tail[padded - 1 - i] = static_cast<unsigned char>(bits >> (8 * i));
  for (std::size_t at = 0; at < padded; at += 64) compress(state, tail.data() + at);
  std::string hex;
  for (const std::uint32_t word : state) hex += fmt::format("{:08x}", word);
  return hex;
}

}  // namespace rubato
