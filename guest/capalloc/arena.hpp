// Where capalloc's blocks and all it knows of them lie (rule P70). Blocks are tracked memory; what is known
// of them is not, and no link is kept in a block: so capsules protect all of it. Everything is found by
// position, for each page of 8 KiB of the arena:
//
//   span_of   4 bytes     the span that begins or ends there, or that holds it if its blocks are small
//   spans     one line    of the span whose first page it is
//   slots     1 KiB       stacks of free slots, for spans of small blocks
//   marks     512 bytes   for each 16 bytes of the page: what block begins there
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/size_classes.hpp"

namespace rubato::capalloc {

using PageNumber = std::uint32_t;
/// A block's distance from the arena's begin, in units of 16 bytes.
using BlockNumber = std::uint32_t;

inline constexpr std::uint64_t kPageBytes = 8 << 10;
inline constexpr std::uint64_t kArenaBytes = std::uint64_t{16} << 30;
inline constexpr std::uint32_t kPages = kArenaBytes / kPageBytes;
inline constexpr std::uint64_t kUnit = 16;
inline constexpr std::uint32_t kUnitsPerPage = kPageBytes / kUnit;
inline constexpr std::uint32_t kSpanPages = 8;  ///< of a span of small blocks
inline constexpr std::uint32_t kSpanBytes = kSpanPages * kPageBytes;

/// A run of pages with one use. Links are page numbers and 1: 0 is none.
struct alignas(64) Span {
  enum class State : std::uint8_t { none, small, large, free };

  std::uint32_t pages = 0;
  PageNumber next = 0, previous = 0;
  std::uint32_t stacked = 0;  ///< free slots on its stack
  std::uint32_t cut = 0;      ///< slots below have been given out before
  State state = State::none;
  std::uint8_t size_class = 0;
  bool is_fresh = false;   ///< reads as zero: no block has been in its pages
  bool is_listed = false;  ///< in its class's central list

  std::uint32_t slots() const { return kSpanBytes / kClassBytes[size_class]; }
  std::uint32_t used() const { return cut - stacked; }
};
static_assert(sizeof(Span) == 64);

/// What a mark says of the 16 bytes it stands for: nothing, or that a block in use begins there: its class
/// and 1, or kLargeMark; with kFreedMark if it is not in use any longer.
inline constexpr std::uint8_t kLargeMark = kSizeClasses + 1, kFreedMark = 0x80, kSeenMark = 0x40;

struct Arena {
  std::uintptr_t base = 0;
  std::uint32_t* span_of = nullptr;
  Span* spans = nullptr;
  std::uint16_t* slots = nullptr;
  std::uint8_t* marks = nullptr;

  static constexpr std::uint64_t kKnownBytes =
      kPages *
      (sizeof(std::uint32_t) + sizeof(Span) + std::uint64_t{kUnitsPerPage} * (sizeof(std::uint16_t) + 1));

  /// Lays out the arena and what is known of it in two reserved ranges, both aligned to kPageBytes.
  void place(std::uintptr_t blocks, std::uintptr_t known) {
    base = blocks;
    const auto next = [&](std::uint64_t bytes) {
      const std::uintptr_t at = known;
      known += bytes * kPages;
      return at;
    };
    span_of = reinterpret_cast<std::uint32_t*>(next(sizeof(std::uint32_t)));
    spans = reinterpret_cast<Span*>(next(sizeof(Span)));
    slots = reinterpret_cast<std::uint16_t*>(next(kUnitsPerPage * sizeof(std::uint16_t)));
    marks = reinterpret_cast<std::uint8_t*>(next(kUnitsPerPage));
  }
  /// Makes pages usable, and what is known of them: make(begin, bytes) does it for one range.
  template <class Make>
  bool commit(PageNumber first, std::uint32_t pages, Make make) const {
    const auto part = [&](auto* table, std::uint64_t each) {
      return make(reinterpret_cast<std::uintptr_t>(table + first * each), sizeof(*table) * each * pages);
    };
    return make(base + first * kPageBytes, pages * kPageBytes) && part(span_of, 1) && part(spans, 1) &&
           part(slots, kUnitsPerPage) && part(marks, kUnitsPerPage);
  }

  // There are atomic instructions for words only. An offset's half is 8 times the block's number: the place
  // of its mark in the word, modulo 32.

  /// The mark that the block had.
  std::uint64_t mark_freed(std::uint64_t offset) const {
    const std::uint32_t word =
        __atomic_fetch_or(word_of(offset), std::uint32_t{kFreedMark} << offset / 2 % 32, __ATOMIC_RELAXED);
    return static_cast<std::uint8_t>(word >> offset / 2 % 32);
  }
  /// What mark_freed() did where there is no block.
  void unmark(std::uint64_t offset) const {
    __atomic_fetch_and(word_of(offset), ~(std::uint32_t{kFreedMark} << offset / 2 % 32), __ATOMIC_RELAXED);
  }
  std::uint32_t* word_of(std::uint64_t offset) const {
    return reinterpret_cast<std::uint32_t*>(marks) + offset / kUnit / 4;
  }
  std::uintptr_t address(BlockNumber block) const { return base + block * kUnit; }
  std::uint16_t* slots_of(PageNumber first) const { return slots + std::uint64_t{first} * kUnitsPerPage; }
  /// The first page of the span that holds `block`.
  PageNumber span_at(BlockNumber block) const { return span_of[block / kUnitsPerPage] - 1; }
  void set_span(PageNumber first, std::uint32_t pages, Span::State state, bool is_fresh) const {
    spans[first] = {.pages = pages, .state = state, .is_fresh = is_fresh};
    span_of[first] = span_of[first + pages - 1] = first + 1;
  }
};

/// A doubly linked list of spans.
struct SpanList {
  PageNumber head = 0;

  void push(const Arena& arena, PageNumber first) {
    Span& span = arena.spans[first];
    span.previous = 0, span.next = head;
    if (head != 0) arena.spans[head - 1].previous = first + 1;
    head = first + 1;
  }
  void push_behind(const Arena& arena, PageNumber before, PageNumber first) {
    Span& span = arena.spans[first];
    Span& earlier = arena.spans[before];
    span.previous = before + 1, span.next = earlier.next;
    if (earlier.next != 0) arena.spans[earlier.next - 1].previous = first + 1;
    earlier.next = first + 1;
  }
  void remove(const Arena& arena, PageNumber first) {
    const Span& span = arena.spans[first];
    (span.previous != 0 ? arena.spans[span.previous - 1].next : head) = span.next;
    if (span.next != 0) arena.spans[span.next - 1].previous = span.previous;
  }
};

template <class Lock>
class Locked {
 public:
  explicit Locked(Lock& lock) : lock_(lock) { lock_.lock(); }
  ~Locked() { lock_.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Lock& lock_;
};

}  // namespace rubato::capalloc
