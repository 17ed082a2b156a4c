// A gene and pieces of it, which genome and STAMP's genome put together. A piece has up to 64 nucleotides of
// two bits, the first in the highest places, so that the common ends of pieces are found by shifting.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rng.hpp"

namespace rubato::apps::genome {

inline constexpr std::uint64_t kLongestSegment = 64;
inline constexpr const char* kNucleotides = "acgt";

struct Segment {
  std::uint64_t high = 0, low = 0;

  __extension__ using Bits = unsigned __int128;
  Segment() = default;
  explicit Segment(Bits bits)
      : high(static_cast<std::uint64_t>(bits >> 64)), low(static_cast<std::uint64_t>(bits)) {}
  Bits bits() const { return (Bits{high} << 64) | low; }
  bool operator==(const Segment&) const = default;
  bool operator<(const Segment& other) const {
    return high != other.high ? high < other.high : low < other.low;
  }
  std::uint64_t hash() const { return mix64(high ^ mix64(low)); }

  /// The first or last `count` nucleotides of a segment of `length`; 0 < count <= length.
  Segment first(std::uint64_t count, std::uint64_t length) const {
    return Segment(bits() >> (2 * (length - count)));
  }
  Segment last(std::uint64_t count) const { return Segment(bits() & (~Bits{0} >> (128 - 2 * count))); }
};

/// Every piece of `length` nucleotides of a gene, in order.
inline std::vector<Segment> all_segments(const std::string& gene, std::uint64_t length) {
  const Segment::Bits mask = ~Segment::Bits{0} >> (128 - 2 * length);
  std::vector<Segment> result;
  Segment::Bits bits = 0;
  for (std::size_t i = 0; i < gene.size(); ++i) {
    bits = ((bits << 2) | std::string_view(kNucleotides).find(gene[i])) & mask;
    if (i + 1 >= length) result.emplace_back(bits);
  }
  return result;
}

inline std::string random_gene(std::uint64_t length, std::uint64_t seed) {
  Rng rng(seed);
  std::string gene(length, ' ');
  for (char& nucleotide : gene) nucleotide = kNucleotides[rng.below(4)];
  return gene;
}

/// `count` pieces of `length` nucleotides from random places, and as many as it takes that neighbours overlap
/// by three quarters at least, which no others do by chance.
inline std::vector<Segment> random_pieces(const std::string& gene, std::uint64_t length, std::uint64_t count,
                                          std::uint64_t seed) {
  Rng rng(mix64(seed));
  const std::vector<Segment> all = all_segments(gene, length);
  std::vector<bool> is_there(all.size());
  std::vector<Segment> result;
  const auto take = [&](std::uint64_t place) {
    is_there[place] = true;
    result.push_back(all[place]);
  };
  for (std::uint64_t i = 0; i < count; ++i) take(rng.below(all.size()));
  std::uint64_t last = 0;
  for (std::uint64_t place = 0; place < all.size(); ++place) {
    if (!is_there[place] && (place == 0 || place == all.size() - 1 || place - last == length / 4))
      take(place);
    if (is_there[place]) last = place;
  }
  for (std::size_t i = result.size(); i > 1; --i) std::swap(result[i - 1], result[rng.below(i)]);
  return result;
}

/// Appends the last `count` nucleotides.
inline void append(std::string& text, const Segment& segment, std::uint64_t count) {
  for (std::uint64_t i = count; i > 0; --i)
    text += kNucleotides[static_cast<unsigned>(segment.bits() >> (2 * (i - 1))) & 3];
}

}  // namespace rubato::apps::genome
