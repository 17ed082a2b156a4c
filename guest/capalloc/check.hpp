// Heap::check(): walks all of a heap. Each page is in one span; no two free spans touch; each slot of a small
// span is in exactly one place: in use, in a cache or a batch, on the span's stack, or not cut yet. Part of
// heap.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "guest/capalloc/heap.hpp"

namespace rubato::capalloc {

template <class System>
const char* Heap<System>::check() {
  const Arena& arena = arena_;
  const PageNumber end = pages_.heap.end();
  const auto see = [&](BlockNumber block) {  // false: it is in use, or was seen before
    Mark& mark = arena.marks[block];
    if (mark != 0 && mark != kFreedMark) return false;
    mark -= kSeen;
    return true;
  };
  std::uint32_t free_spans = 0;
  bool was_free = false;
  for (PageNumber first = 0; first < end; first += arena.spans[first].pages) {
    const Span& span = arena.spans[first];
    if (span.state == Span::State::none || span.pages == 0 || span.pages > end - first)
      return "a page is in no span";
    if (arena.span_of[first] != first + 1 || arena.span_of[first + span.pages - 1] != first + 1)
      return "the page map names another span";
    const bool is_free = span.state == Span::State::free;
    if (is_free && was_free) return "two free spans touch";
    was_free = is_free;
    free_spans += is_free ? 1 : 0;
    const Mark mark = arena.marks[first * kUnitsPerPage];
    if (span.state == Span::State::large && mark != kLargeMark) return "a large block is not in use";
    if (span.state != Span::State::small) continue;
    if (span.pages != kSpanPages || span.cut > span.slots() || span.stacked > span.cut)
      return "a span of small blocks has wrong numbers";
    const std::uint32_t units = kClassBytes[span.size_class] / kUnit;
    for (std::uint32_t i = 0; i < span.stacked; ++i) {
      const std::uint32_t slot = arena.slots_of(first)[i];
      if (slot >= span.cut || !see(first * kUnitsPerPage + slot * units))
        return "a free slot is somewhere else, too";
    }
  }
  for (std::uint32_t n = 0; n <= PageHeap::kListed; ++n) {
    if (n != 0 && pages_.heap.is_held(n) != (pages_.heap.list(n).head != 0))
      return "a list of free pages is looked for where it is empty, or is not found";
    for (PageNumber s = pages_.heap.list(n).head; s != 0; s = arena.spans[s - 1].next, --free_spans) {
      const Span& span = arena.spans[s - 1];
      if (span.state != Span::State::free || (span.pages <= PageHeap::kListed ? span.pages : 0) != n)
        return "a list of free pages holds what is not free, or of another length";
    }
  }
  if (free_spans != 0) return "a free span is in no list";
  const auto see_all = [&](const std::uint64_t* blocks, std::uint64_t count, unsigned size_class) {
    return std::all_of(blocks, blocks + count, [&](std::uint64_t address) {
      const Span& span = arena.spans[arena.span_at(number(address))];
      return span.state == Span::State::small && span.size_class == size_class && see(number(address));
    });
  };
  for (unsigned k = 0; k < kSizeClasses; ++k) {
    for (std::uint32_t c = 0; c <= cores_; ++c) {
      const Bin& bin = caches_[c].bin(mark_of_class(k));
      const std::uint64_t* const bottom = bin.bottom(k);
      if (!see_all(bottom, static_cast<std::uint64_t>(bin.top - bottom), k))
        return "a cached block is of another class, or somewhere else, too";
    }
    for (std::uint32_t i = 0; i < depots_[k].full_count(); ++i) {
      if (!see_all(batch(k, depots_[k].full(i)).blocks, cache_capacity(k) / 2, k))
        return "a block in a batch is of another class, or somewhere else, too";
    }
  }
  for (PageNumber first = 0; first < end; first += arena.spans[first].pages) {
    const Span& span = arena.spans[first];
    if (span.state != Span::State::small) continue;
    const std::uint32_t units = kClassBytes[span.size_class] / kUnit;
    for (std::uint32_t slot = 0; slot < span.cut; ++slot) {
      Mark& mark = arena.marks[first * kUnitsPerPage + slot * units];
      const bool is_seen = mark < kLargeMark;
      if (is_seen) mark += kSeen;
      if (!is_seen && mark != mark_of_class(span.size_class)) return "a block is lost";
    }
  }
  return nullptr;
}

}  // namespace rubato::capalloc
