// Vocabulary of the simulated chip: points in time, addresses and identifiers as types that do not mix.
//
//   Cycle     a point on the chip's clock; Latency is a length (Cycle - Cycle)
//   Addr      a guest virtual byte address (the chip has no address translation; docs: what is not modelled)
//   LineAddr  Addr >> 6: the unit of coherence and of conflict detection
//   CoreId, TileId   dense from 0; core c belongs to tile c / cores_per_tile
// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace rubato::chip {

using Latency = std::uint64_t;

struct Cycle {
  std::uint64_t value = 0;
  constexpr Cycle() = default;
  constexpr explicit Cycle(std::uint64_t v) : value(v) {}
  constexpr auto operator<=>(const Cycle&) const = default;
  constexpr Cycle& operator+=(Latency d) { return value += d, *this; }
  friend constexpr Cycle operator+(Cycle c, Latency d) { return Cycle{c.value + d}; }
  friend constexpr Latency operator-(Cycle a, Cycle b) { return a.value - b.value; }
};
inline constexpr Cycle kNever{std::numeric_limits<std::uint64_t>::max()};
constexpr Cycle later(Cycle a, Cycle b) { return a < b ? b : a; }
constexpr Cycle earlier(Cycle a, Cycle b) { return a < b ? a : b; }

using Addr = std::uint64_t;
inline constexpr unsigned kLineBits = 6;
inline constexpr std::uint64_t kLineBytes = 64;

struct LineAddr {
  std::uint64_t value = 0;
  constexpr LineAddr() = default;
  constexpr explicit LineAddr(std::uint64_t v) : value(v) {}
  constexpr auto operator<=>(const LineAddr&) const = default;
};
constexpr LineAddr line_of(Addr a) { return LineAddr{a >> kLineBits}; }
constexpr Addr addr_of(LineAddr l) { return l.value << kLineBits; }
/// No line: an address shifted right by kLineBits never has all bits set.
inline constexpr LineAddr kNoLine{~std::uint64_t{0}};

/// Lines of programs that run side by side have the same addresses. The memory system tells them apart by the
/// program's number above the bits of a program's own line (K81). Exclusive or is its own inverse, so the
/// same function leads back.
inline constexpr unsigned kOwnLineBits = 32;
constexpr LineAddr line_of_program(std::uint32_t program, LineAddr own) {
  return LineAddr{own.value ^ std::uint64_t{program} << kOwnLineBits};
}

/// A dense index that does not convert to another kind of index.
template <class Tag>
struct Id {
  std::uint32_t value = 0;
  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t v) : value(v) {}
  constexpr auto operator<=>(const Id&) const = default;
};
using CoreId = Id<struct CoreTag>;
using TileId = Id<struct TileTag>;

inline constexpr std::uint32_t kMaxCores = 1024;
inline constexpr std::uint32_t kMaxTiles = 1024;

}  // namespace rubato::chip
