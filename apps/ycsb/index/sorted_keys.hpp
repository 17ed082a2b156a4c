// Search among the sorted keys of a node. The two keys that bound the node say where to look: keys that are
// spread evenly there, as hashed and consecutive ones are, lie within a window of few lines. All loads of a
// window are independent of each other, so that they cost one latency. Other keys take a branch-free halving.
// Keys may be tracked and change meanwhile: the result is then wrong, but never above `last`.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "apps/ycsb/interpolate.hpp"
#include "apps/ycsb/node.hpp"

namespace rubato::apps::ycsb::index {

/// Estimated position of `key` among the `count` keys of a node whose range is [low, high). The rightmost
/// node of a level has no upper bound, kNoKey: its last key stands for it.
template <class Keys>
inline unsigned expected_position(const Keys& keys, unsigned count, Key low, Key high, Key key) {
  if (high == kNoKey && count != 0) [[unlikely]]
    high = keys[count - 1];
  return key < high ? interpolate(low, high, key, count) : count;
}

/// The first of keys [first, last) for which is_below(key) is false; `last` if there is none.
template <class Keys, class IsBelow>
inline unsigned halved(const Keys& keys, unsigned first, unsigned last, IsBelow is_below) {
  unsigned length = last > first ? last - first : 0;
  while (length > 1) {
    const unsigned half = length / 2;
    first = is_below(keys[first + half - 1]) ? first + half : first;
    length -= half;
  }
  return first + unsigned{length == 1 && is_below(keys[first])};
}

/// The begin of a window of `window` keys that has key `guess` near its middle and touches as few lines as
/// possible. last - first >= window.
template <unsigned window, class Keys>
inline unsigned window_start(const Keys& keys, unsigned first, unsigned last, unsigned guess) {
  constexpr unsigned kKeysPerLine = kLineBytes / sizeof(Key);
  const auto base =
      static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(&keys[0]) % kLineBytes / sizeof(Key));
  constexpr unsigned kBefore = window / 2 - kKeysPerLine / 2;
  const unsigned from = guess + base > kBefore ? (guess + base - kBefore) / kKeysPerLine * kKeysPerLine : 0;
  const unsigned start = from > base + first ? from - base : first;
  return start + window > last ? last - window : start;
}

/// The same as halved(), quick if the answer is near `guess`. window: 0 for halving alone, else a multiple of
/// a line's keys.
template <unsigned window, class Keys, class IsBelow>
inline unsigned near(const Keys& keys, unsigned first, unsigned last, unsigned guess, IsBelow is_below) {
  if constexpr (window != 0) {
    if (last >= first + window) [[likely]] {
      const unsigned start = window_start<window>(keys, first, last, guess);
      unsigned below = 0;
      unrolled<window>([&](unsigned i) { below += unsigned{is_below(keys[start + i])}; });
      if (below == 0 && start != first) [[unlikely]]
        return halved(keys, first, start, is_below);
      if (below == window) [[unlikely]]
        return halved(keys, start + window, last, is_below);
      return start + below;
    }
  }
  return halved(keys, first, last, is_below);
}

}  // namespace rubato::apps::ycsb::index
