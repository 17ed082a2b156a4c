// The spans of one size class that have free slots (P72). Locks are taken in one order: a class's, then
// that of the page heap.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "guest/capalloc/page_heap.hpp"

namespace rubato::capalloc {

template <class Lock>
struct LockedPages {
  alignas(64) Lock lock;
  PageHeap heap;
};

template <class Lock>
class alignas(64) CentralList {
 public:
  /// Takes up to `wanted` blocks. Fewer: there are no pages for more.
  std::uint32_t fetch(const Arena& arena, LockedPages<Lock>& pages, unsigned size_class, BlockNumber* blocks,
                      std::uint32_t wanted) {
    const std::uint32_t units = kClassBytes[size_class] / kUnit;
    BlockNumber next = 0;  // of a run that was never given out, whose blocks need no look
    std::uint32_t taken = 0, run = 0;
    {
      const Locked guard(lock_);
      while (taken < wanted && run == 0) {
        if (list_.head == 0 && !add_span(arena, pages, size_class)) break;
        const PageNumber first = list_.head - 1;
        Span& span = arena.spans[first];
        const std::uint32_t slots = span.slots();
        const BlockNumber begin = first * kUnitsPerPage;
        const std::uint16_t* const stack = arena.slots_of(first);
        for (; taken < wanted && span.stacked > 0; ++taken)
          blocks[taken] = begin + stack[--span.stacked] * units;
        run = std::min(wanted - taken, slots - span.cut);
        next = begin + span.cut * units;
        span.cut += run;
        if (span.stacked == 0 && span.cut == slots) unlist(arena, first);
      }
    }
    for (; run > 0; --run, next += units) blocks[taken++] = next;
    return taken;
  }

  void give_back(const Arena& arena, LockedPages<Lock>& pages, unsigned size_class, const BlockNumber* blocks,
                 std::uint32_t count) {
    const Locked guard(lock_);
    for (std::uint32_t i = 0; i < count; ++i) {
      const PageNumber first = arena.span_at(blocks[i]);
      Span& span = arena.spans[first];
      const std::uint32_t units = kClassBytes[size_class] / kUnit;
      arena.slots_of(first)[span.stacked++] =
          static_cast<std::uint16_t>((blocks[i] - first * kUnitsPerPage) / units);
      if (!span.is_listed) {
        span.is_listed = true;
        list_.push(arena, first);
      } else if (span.used() == 0 && (span.next != 0 || span.previous != 0)) {  // one is kept
        unlist(arena, first);
        const Locked all(pages.lock);
        pages.heap.give(arena, first, kSpanPages);
      }
    }
  }

  const SpanList& list() const { return list_; }

 private:
  bool add_span(const Arena& arena, LockedPages<Lock>& pages, unsigned size_class) {
    PageNumber found = 0;
    {
      const Locked all(pages.lock);
      found = pages.heap.take(arena, kSpanPages);
      if (found == 0) return false;
      Span& span = arena.spans[found - 1];
      span.state = Span::State::small;
      span.size_class = static_cast<std::uint8_t>(size_class);
      span.is_listed = true;
      for (std::uint32_t p = 0; p < kSpanPages; ++p) arena.span_of[found - 1 + p] = found;
    }
    list_.push(arena, found - 1);
    return true;
  }

  void unlist(const Arena& arena, PageNumber first) {
    list_.remove(arena, first);
    arena.spans[first].is_listed = false;
  }

  Lock lock_;
  SpanList list_;
};

}  // namespace rubato::capalloc
