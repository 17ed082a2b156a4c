// Whole pages of the arena (P72): best fit, by a list for each number of pages up to 128 and an ordered
// one of longer runs; a run that comes back joins its free neighbours. The caller holds the lock.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "guest/capalloc/arena.hpp"

namespace rubato::capalloc {

class PageHeap {
 public:
  static constexpr std::uint32_t kListed = 128;

  /// The arena's usable pages: all below.
  PageNumber end() const { return __atomic_load_n(&end_, __ATOMIC_ACQUIRE); }

  /// The arena has become usable up to end() + pages.
  void extend(const Arena& arena, std::uint32_t pages) {
    const PageNumber first = end_;
    __atomic_store_n(&end_, end_ + pages, __ATOMIC_RELEASE);
    give(arena, first, pages, true);
  }

  /// The first of that many pages, and 1; 0: there are none.
  PageNumber take(const Arena& arena, std::uint32_t pages) {
    PageNumber found = lists_[first_list(pages)].head;
    while (found != 0 && arena.spans[found - 1].pages < pages) found = arena.spans[found - 1].next;
    if (found == 0) return 0;
    const PageNumber first = found - 1;
    const Span& span = arena.spans[first];
    const std::uint32_t there = span.pages;
    const bool is_fresh = span.is_fresh;
    remove(arena, first);
    if (there > pages) insert(arena, first + pages, there - pages, is_fresh);
    arena.set_span(first, pages, Span::State::large, is_fresh);
    return found;
  }

  void give(const Arena& arena, PageNumber first, std::uint32_t pages, bool is_fresh = false) {
    if (first + pages < end_) join(arena, first + pages, first, pages, is_fresh);
    if (first > 0) join(arena, arena.span_of[first - 1] - 1, first, pages, is_fresh);
    insert(arena, first, pages, is_fresh);
  }

  /// Adds free pages behind the span of a block to it, until it has as many. False: there are too few.
  bool lengthen(const Arena& arena, PageNumber first, std::uint32_t pages) {
    Span& span = arena.spans[first];
    const PageNumber behind = first + span.pages;
    if (behind >= end_ || arena.spans[behind].state != Span::State::free) return false;
    Span& other = arena.spans[behind];
    const std::uint32_t there = span.pages + other.pages;
    if (there < pages) return false;
    remove(arena, behind);
    other.state = Span::State::none;
    if (there > pages) insert(arena, first + pages, there - pages, other.is_fresh);
    set_pages(arena, first, pages);
    return true;
  }

  /// Gives back the pages of a block's span beyond that number, which is above 0.
  void shorten(const Arena& arena, PageNumber first, std::uint32_t pages) {
    const std::uint32_t rest = arena.spans[first].pages - pages;
    set_pages(arena, first, pages);
    if (rest > 0) give(arena, first + pages, rest);
  }

  /// Whether no block is behind that one.
  bool is_last(const Arena& arena, PageNumber first) const {
    const PageNumber behind = first + arena.spans[first].pages;
    return behind == end_ ||
           (arena.spans[behind].state == Span::State::free && behind + arena.spans[behind].pages == end_);
  }

  const SpanList& list(std::uint32_t n) const { return lists_[n]; }
  /// Whether take() looks at list `n`, which is above 0.
  bool is_held(std::uint32_t n) const { return (held_[n / 64] >> n % 64 & 1) != 0; }

 private:
  static void set_pages(const Arena& arena, PageNumber first, std::uint32_t pages) {
    arena.spans[first].pages = pages;
    arena.span_of[first + pages - 1] = first + 1;
  }

  static std::uint32_t list_of(std::uint32_t pages) { return pages <= kListed ? pages : 0; }

  /// The first list of runs of at least that many pages that holds any; 0, that of longer runs, if none does.
  /// All other cores wait for the lock meanwhile, so it looks at a few words instead of the lists.
  std::uint32_t first_list(std::uint32_t pages) const {
    if (pages > kListed) return 0;
    std::uint32_t word = pages / 64;
    for (std::uint64_t held = held_[word] >> pages % 64 << pages % 64;; held = held_[word]) {
      if (held != 0) return word * 64 + lowest_of(held);
      if (++word == kHeldWords) return 0;
    }
  }

  /// The lowest bit that is set. Not the compiler's: its library reads a table, which tasks can write to.
  static std::uint32_t lowest_of(std::uint64_t bits) {
    std::uint32_t lowest = 0;
    for (std::uint32_t half = 32; half != 0; half /= 2) {
      if ((bits << (64 - half)) != 0) continue;
      bits >>= half;
      lowest += half;
    }
    return lowest;
  }

  void remove(const Arena& arena, PageNumber first) {
    const std::uint32_t n = list_of(arena.spans[first].pages);
    lists_[n].remove(arena, first);
    if (n != 0 && lists_[n].head == 0) held_[n / 64] &= ~(std::uint64_t{1} << n % 64);
  }

  /// If the neighbour is free, both become one.
  void join(const Arena& arena, PageNumber neighbour, PageNumber& first, std::uint32_t& pages,
            bool& is_fresh) {
    Span& other = arena.spans[neighbour];
    if (other.state != Span::State::free) return;
    remove(arena, neighbour);
    pages += other.pages;
    is_fresh = is_fresh && other.is_fresh;
    if (neighbour < first) first = neighbour;
    other.state = Span::State::none;
  }

  void insert(const Arena& arena, PageNumber first, std::uint32_t pages, bool is_fresh) {
    arena.set_span(first, pages, Span::State::free, is_fresh);
    SpanList& list = lists_[list_of(pages)];
    if (pages <= kListed) {
      held_[pages / 64] |= std::uint64_t{1} << pages % 64;
      return list.push(arena, first);
    }
    PageNumber before = 0;
    for (PageNumber s = list.head; s != 0 && arena.spans[s - 1].pages < pages; s = arena.spans[s - 1].next)
      before = s;
    before == 0 ? list.push(arena, first) : list.push_behind(arena, before - 1, first);
  }

  static constexpr std::uint32_t kHeldWords = kListed / 64 + 1;

  PageNumber end_ = 0;
  SpanList lists_[kListed + 1];
  std::uint64_t held_[kHeldWords] = {};  ///< bit n: list n, from 1 on, is not empty
};

}  // namespace rubato::capalloc
