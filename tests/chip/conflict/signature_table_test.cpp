// Signatures: nothing added is ever missed, Bloom filters err as often as theory says, columns clear without
// a trace, exact sets agree with sets; and the hash table below them.
// SPDX-License-Identifier: MIT
#include "chip/conflict/signature_table.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/rng.hpp"

namespace rubato::chip {
namespace {

/// A table of either kind beside sets that cannot err.
struct Pair {
  Pair(const char* kind, std::uint32_t bits, std::uint32_t ways, std::uint32_t slots)
      : h3(ways, bits / ways), table(kind == std::string("bloom") ? &h3 : nullptr, slots), sets(slots) {}

  Probe probe(LineAddr line) const { return {line, h3.hash(line)}; }
  void add(LineAddr line, std::uint32_t slot, bool write) {
    table.add(probe(line), slot, write);
    sets[slot][write].insert(line);
  }
  void clear(std::uint32_t slot) {
    for (const bool write : {false, true}) {
      for (const LineAddr line : sets[slot][write]) table.remove(probe(line), slot, write);
      sets[slot][write].clear();
    }
  }
  bool has(LineAddr line, std::uint32_t slot, bool write) const {
    std::vector<std::uint64_t> out(std::size_t{2} * table.words());
    if (!table.match(probe(line), true, table.words(), out.data())) return false;
    return (out[(write ? table.words() : 0) + slot / 64] >> slot % 64 & 1) != 0;
  }
  /// The same, asked for writers alone.
  bool has_writer(LineAddr line, std::uint32_t slot) const {
    std::vector<std::uint64_t> out(std::size_t{2} * table.words());
    if (!table.match(probe(line), false, table.words(), out.data())) return false;
    return (out[table.words() + slot / 64] >> slot % 64 & 1) != 0;
  }

  H3 h3;
  SignatureTable table;
  std::vector<std::map<bool, std::set<LineAddr>>> sets;
};

struct Shape {
  const char* kind;
  std::uint32_t bits, ways, slots;
};
class Signatures : public testing::TestWithParam<Shape> {};

TEST_P(Signatures, MissNothingAndClearWithoutATrace) {
  const Shape& s = GetParam();
  Pair pair(s.kind, s.bits, s.ways, s.slots);
  Rng rng(s.slots);
  for (int i = 0; i < 3000; ++i) {
    const auto slot = static_cast<std::uint32_t>(rng.below(s.slots));
    if (rng.below(20) == 0) {
      pair.clear(slot);
    } else {
      pair.add(LineAddr{rng.below(500) << rng.below(40)}, slot, rng.below(2) == 0);
    }
    if (i == 1500) {
      pair.table.widen();
      pair.sets.resize(std::size_t{2} * s.slots);
    }
    const LineAddr line{rng.below(500)};
    for (std::uint32_t other = 0; other < pair.sets.size(); ++other)
      for (const bool write : {false, true}) {
        const bool truth = pair.sets[other][write].contains(line);
        const bool found = pair.has(line, other, write);
        ASSERT_TRUE(found || !truth);
        if (s.kind == std::string("exact")) {
          ASSERT_EQ(found, truth);
        }
        if (write) {
          ASSERT_EQ(pair.has_writer(line, other), found);
        }
      }
  }
  for (std::uint32_t slot = 0; slot < s.slots; ++slot) pair.clear(slot);
  std::vector<std::uint64_t> out(std::size_t{2} * pair.table.words());
  for (std::uint64_t line = 0; line < 5000; ++line)
    ASSERT_FALSE(pair.table.match(pair.probe(LineAddr{line}), true, pair.table.words(), out.data()));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Signatures,
                         testing::Values(Shape{"bloom", 2048, 8, 68}, Shape{"bloom", 2048, 8, 17},
                                         Shape{"bloom", 256, 1, 200}, Shape{"bloom", 65536, 16, 3},
                                         Shape{"bloom", 512, 3, 128}, Shape{"exact", 64, 1, 68},
                                         Shape{"exact", 64, 1, 300}),
                         [](const auto& i) {
                           return std::string(i.param.kind) + std::to_string(i.param.bits) + "bits" +
                                  std::to_string(i.param.ways) + "ways" + std::to_string(i.param.slots) +
                                  "slots";
                         });

class BloomFilters : public testing::TestWithParam<Shape> {};

TEST_P(BloomFilters, ErrAsOftenAsTheorySays) {
  // With n random lines, each way's bank of r rows has a given row set with 1 - (1 - 1/r)^n.
  const auto [kind, bits, ways, lines] = GetParam();
  const double rows = bits / ways;
  const double theory = std::pow(1 - std::pow(1 - 1 / rows, lines), ways);
  Pair pair("bloom", bits, ways, 64);
  Rng rng(bits + ways + lines);
  for (std::uint32_t slot = 0; slot < 64; ++slot)
    for (std::uint32_t i = 0; i < lines; ++i) pair.add(LineAddr{rng() >> 20}, slot, false);
  std::uint64_t positives = 0, asked = 0;
  std::uint64_t out[2];
  for (int i = 0; i < 20000; ++i, asked += 64)
    if (pair.table.match(pair.probe(LineAddr{rng() >> 20}), true, 1, out))
      positives += static_cast<unsigned>(std::popcount(out[0]));
  const double rate = static_cast<double>(positives) / static_cast<double>(asked);
  EXPECT_NEAR(rate, theory, 0.15 * theory) << positives << " of " << asked;
}

// The default filter with 64 to 256 lines (slots: here the number of lines), and shapes that are no powers.
INSTANTIATE_TEST_SUITE_P(Shapes, BloomFilters,
                         testing::Values(Shape{"", 2048, 8, 128}, Shape{"", 2048, 8, 256},
                                         Shape{"", 1024, 4, 64}, Shape{"", 512, 3, 64}, Shape{"", 64, 1, 8},
                                         Shape{"", 65536, 16, 4096}),
                         [](const auto& i) {
                           return std::to_string(i.param.bits) + "bits" + std::to_string(i.param.ways) +
                                  "ways" + std::to_string(i.param.slots) + "lines";
                         });

TEST(H3, IsLinearAndUsesEveryRow) {
  const H3 h3(8, 256);
  std::vector<int> uses(std::size_t{8} * 256);
  Rng rng(2);
  for (int i = 0; i < 256 * 100; ++i) {
    const LineAddr a{rng() >> 6}, b{rng() >> 6};
    const BloomRows ra = h3.rows(a), rb = h3.rows(b), both = h3.rows(LineAddr{a.value ^ b.value});
    for (std::uint32_t way = 0; way < 8; ++way) {
      ASSERT_EQ(ra.at[way] % 256, h3.hash(a) >> 8 * way & 0xff);
      ASSERT_EQ(ra.at[way] / 256, way);
      ASSERT_EQ((ra.at[way] ^ rb.at[way]) % 256, both.at[way] % 256);
      ++uses[ra.at[way]];
    }
  }
  for (const int n : uses) {  // 100 expected, deviation 10
    EXPECT_GT(n, 40);
    EXPECT_LT(n, 170);
  }
}

TEST(LineTable, AgreesWithAMapThroughInsertionsRemovalsAndGrowth) {
  LineTable table(3);
  std::map<std::uint64_t, std::uint64_t> truth;
  Rng rng(7);
  for (int i = 0; i < 200000; ++i) {
    // Grows to 3000 lines, shrinks again, and so on.
    const std::uint64_t line = rng.below(3000) * 4096;
    const bool adds = rng.below(100) < (i / 20000 % 2 == 0 ? 70U : 30U);
    if (adds) {
      std::uint64_t* const words = table.insert(LineAddr{line});
      ASSERT_EQ(words[2], truth.contains(line) ? truth[line] : 0);
      words[2] = truth[line] = rng();
    } else if (truth.erase(line) != 0) {
      table.erase(LineAddr{line});
    }
    const std::uint64_t other = rng.below(3000) * 4096;
    const std::uint64_t* const words = table.find(LineAddr{other});
    ASSERT_EQ(words != nullptr, truth.contains(other));
    if (words != nullptr) {
      ASSERT_EQ(words[2], truth[other]);
    }
    ASSERT_EQ(table.size(), truth.size());
  }
}

}  // namespace
}  // namespace rubato::chip
