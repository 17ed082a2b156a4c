// Ordinary C++ compiled for -march=rv64gc_zba_zbb_zbs: counts, rotations, sets of bits. Prints checksums,
// which the same program must print under qemu.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#if !defined(__riscv_zba) || !defined(__riscv_zbb) || !defined(__riscv_zbs)
#error "compile this program for Zba, Zbb and Zbs"
#endif

namespace {

std::uint64_t next(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

// Board of bits: queens, with sets in words.
unsigned queens(unsigned columns, unsigned left, unsigned right, unsigned all) {
  if (columns == all) return 1;
  unsigned count = 0;
  for (unsigned free = ~(columns | left | right) & all; free != 0; free &= free - 1) {
    const unsigned queen = free & ~(free - 1);
    count += queens(columns | queen, (left | queen) << 1, (right | queen) >> 1, all);
  }
  return count;
}

std::uint64_t hash(const std::vector<std::uint32_t>& words) {
  std::uint64_t h = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    h = std::rotl(h, 5) ^ words[i] * std::uint64_t{0x9e3779b97f4a7c15};
    h += static_cast<std::uint64_t>(std::popcount(words[i])) << (words[i] % 64);
  }
  return h;
}

}  // namespace

int main() {
  std::uint64_t state = 1;
  std::vector<std::uint32_t> words(1000);
  for (auto& word : words) word = static_cast<std::uint32_t>(next(state));
  std::printf("hash %016lx\n", hash(words));

  std::uint64_t zeros = 0, swapped = 0, extended = 0;
  std::int64_t low = 0, high = 0;
  std::uint64_t set[4] = {};
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t v = next(state) >> (i % 64);
    zeros = zeros * 31 + static_cast<std::uint64_t>(std::countl_zero(v)) + 2 * std::countr_zero(v);
    swapped ^=
        __builtin_bswap64(v) + static_cast<std::uint64_t>(__builtin_bswap32(static_cast<std::uint32_t>(v)));
    extended += static_cast<std::uint64_t>(static_cast<std::int8_t>(v)) ^
                static_cast<std::uint64_t>(static_cast<std::int16_t>(v)) ^ static_cast<std::uint16_t>(v);
    low = std::min(low, static_cast<std::int64_t>(v));
    high = std::max(high, static_cast<std::int64_t>(v));
    set[v % 256 / 64] ^= std::uint64_t{1} << (v % 64);
  }
  std::printf("zeros %016lx swapped %016lx extended %016lx low %ld high %ld\n", zeros, swapped, extended, low,
              high);
  std::printf("set %016lx %016lx %016lx %016lx\n", set[0], set[1], set[2], set[3]);
  std::printf("queens %u\n", queens(0, 0, 0, 255));

  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>('a' + next(state) % 26);
  std::printf("length %zu, of the first z %td\n", std::strlen(text.c_str()),
              std::find(text.begin(), text.end(), 'z') - text.begin());
  std::sort(words.begin(), words.end());
  std::printf("sorted %016lx\n", hash(words));
}
