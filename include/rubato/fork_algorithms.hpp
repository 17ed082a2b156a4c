// Algorithms on fork_join(): parallel_merge, parallel_stable_sort, parallel_find_if; the same on every
// engine. In a task and outside they return when all is done, and throw what the program's functions have
// thrown. Not part of rubato.hpp: include it where it is used.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <type_traits>
#include <vector>

#include "rubato/fork_join.hpp"

namespace rubato::inline v0 {
namespace engine {

/// Elements that one worker handles faster than two: some microseconds of comparisons.
inline constexpr std::ptrdiff_t kForkGrain = 4096;

/// Merges two sorted ranges; of equal elements the first range's come first. Elements are copied, or moved.
template <bool moves, class In1, class In2, class Out, class Less>
void merge_by_forks(In1 first1, In1 last1, In2 first2, In2 last2, Out out, const Less& less) {
  const auto size1 = last1 - first1, size2 = last2 - first2;
  if (size1 + size2 <= kForkGrain) {
    if constexpr (moves) {
      std::merge(std::make_move_iterator(first1), std::make_move_iterator(last1),
                 std::make_move_iterator(first2), std::make_move_iterator(last2), out, less);
    } else {
      std::merge(first1, last1, first2, last2, out, less);
    }
    return;
  }
  // The middle of the larger range, and where it belongs in the other one.
  In1 middle1 = first1 + size1 / 2;
  In2 middle2 = first2 + size2 / 2;
  if (size1 >= size2) {
    middle2 = std::lower_bound(first2, last2, *middle1, less);
  } else {
    middle1 = std::upper_bound(first1, last1, *middle2, less);
  }
  fork_join([&] { merge_by_forks<moves>(first1, middle1, first2, middle2, out, less); },
            [&] {
              merge_by_forks<moves>(middle1, last1, middle2, last2,
                                    out + ((middle1 - first1) + (middle2 - first2)), less);
            });
}

/// Sorts [begin, end). The result is there, or at `buffer`, which has as many elements.
template <class Iterator, class Buffer, class Less>
void stable_sort_by_forks(Iterator begin, Iterator end, Buffer buffer, bool to_buffer, const Less& less) {
  const auto size = end - begin;
  if (size <= kForkGrain) {
    std::stable_sort(begin, end, less);
    if (to_buffer) std::move(begin, end, buffer);
    return;
  }
  const auto half = size / 2;
  fork_join([&] { stable_sort_by_forks(begin, begin + half, buffer, !to_buffer, less); },
            [&] { stable_sort_by_forks(begin + half, end, buffer + half, !to_buffer, less); });
  if (to_buffer) {
    merge_by_forks<true>(begin, begin + half, begin + half, end, buffer, less);
  } else {
    merge_by_forks<true>(buffer, buffer + half, buffer + half, buffer + size, begin, less);
  }
}

/// The first index below `found` for which `matches(i)`; what lies behind one that is known is left out.
template <class Matches>
void find_by_forks(std::uint64_t first, std::uint64_t last, std::atomic<std::uint64_t>& found,
                   const Matches& matches) {
  if (first >= found.load(std::memory_order_relaxed)) return;
  if (last - first > static_cast<std::uint64_t>(kForkGrain)) {
    const std::uint64_t middle = first + (last - first) / 2;
    fork_join([&] { find_by_forks(first, middle, found, matches); },
              [&] { find_by_forks(middle, last, found, matches); });
    return;
  }
  for (std::uint64_t i = first; i < last; ++i) {
    if (!matches(i)) continue;
    std::uint64_t seen = found.load(std::memory_order_relaxed);
    while (i < seen && !found.compare_exchange_weak(seen, i, std::memory_order_relaxed)) {
    }
    return;
  }
}

}  // namespace engine

/// Merges two sorted ranges into one that begins at `out`, which overlaps neither. Of equal elements those of
/// the first range come first. Random-access iterators. @returns the end of the result
template <class In1, class In2, class Out, class Less = std::less<>>
Out parallel_merge(In1 first1, std::type_identity_t<In1> last1, In2 first2, std::type_identity_t<In2> last2,
                   Out out, Less less = {}) {
  engine::merge_by_forks<false>(first1, last1, first2, last2, out, less);
  return out + ((last1 - first1) + (last2 - first2));
}

/// Sorts; equal elements keep their order. Random-access iterators; elements that can be moved and made
/// without arguments. Takes memory for as many elements.
template <class Iterator, class Less = std::less<>>
void parallel_stable_sort(Iterator begin, std::type_identity_t<Iterator> end, Less less = {}) {
  if (end - begin <= engine::kForkGrain) return std::stable_sort(begin, end, less);
  std::vector<typename std::iterator_traits<Iterator>::value_type> buffer(
      static_cast<std::size_t>(end - begin));
  engine::stable_sort_by_forks(begin, end, buffer.begin(), false, less);
}

/// @returns the first i in [begin, end) for which matches(*i), or end. Random-access iterators. Elements
/// behind the first may be looked at, too.
template <class Iterator, class Matches>
Iterator parallel_find_if(Iterator begin, std::type_identity_t<Iterator> end, Matches matches) {
  using Offset = typename std::iterator_traits<Iterator>::difference_type;
  const auto size = static_cast<std::uint64_t>(end - begin);
  std::atomic<std::uint64_t> found{size};
  engine::find_by_forks(0, size, found,
                        [&](std::uint64_t i) { return matches(begin[static_cast<Offset>(i)]); });
  return begin + static_cast<Offset>(found.load(std::memory_order_relaxed));
}

}  // namespace rubato::inline v0
