// Layout of capalloc's blocks and of the metadata about them (P70). Blocks are tracked memory, metadata
// is not. No link is kept in a block, so capsules protect all metadata. Everything is found by position, for
// each page of 8 KiB of the arena:
//
//   span_of   4 bytes     the span that begins or ends there, or that holds it if its blocks are small
//   spans     one line    of the span whose first page it is
//   slots     1 KiB       stacks of free slots, for spans of small blocks
//   marks     2 KiB       for each 16 bytes of the page: what block begins there
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
  std::uint32_t resized = 0;  ///< number of the resize that may be undone; 0: none may
  State state = State::none;
  std::uint8_t size_class = 0;
  bool is_fresh = false;   ///< reads as zero: no block has been in its pages
  bool is_listed = false;  ///< in its class's central list

  std::uint32_t slots() const { return kSpanBytes / kClassBytes[size_class]; }
  std::uint32_t used() const { return cut - stacked; }
};
static_assert(sizeof(Span) == 64);

/// State of the 16 bytes that the mark stands for. Above 0: a small block in use begins there, and the mark
/// is the offset of its class's bin in a core's cache. kLargeMark: a large block in use begins there.
/// kFreedMark: a block that was freed began there. 0: nothing. A mark is a word, since atomic instructions
/// exist for words.
using Mark = std::int32_t;
inline constexpr Mark kFreedMark = -1, kLargeMark = -2;
/// While check() looks: taken from one that is 0 or kFreedMark.
inline constexpr Mark kSeen = 4;
/// In a core's cache.
inline constexpr Mark kBinBytes = 32;
constexpr Mark mark_of_class(unsigned size_class) { return static_cast<Mark>(size_class + 1) * kBinBytes; }
constexpr unsigned class_of_mark(std::int64_t mark) { return static_cast<unsigned>(mark / kBinBytes) - 1; }

struct Arena {
  std::uintptr_t base = 0;
  std::uint32_t* span_of = nullptr;
  Span* spans = nullptr;
  std::uint16_t* slots = nullptr;
  Mark* marks = nullptr;

  static constexpr std::uint64_t kKnownBytes =
      kPages * (sizeof(std::uint32_t) + sizeof(Span) +
                std::uint64_t{kUnitsPerPage} * (sizeof(std::uint16_t) + sizeof(Mark)));

  /// Lays out the arena and its metadata in two reserved ranges, both aligned to kPageBytes.
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
    marks = reinterpret_cast<Mark*>(next(kUnitsPerPage * sizeof(Mark)));
  }
  /// Makes pages and their metadata usable: make(begin, bytes) does it for one range.
  template <class Make>
  bool commit(PageNumber first, std::uint32_t pages, Make make) const {
    const auto part = [&](auto* table, std::uint64_t each) {
      return make(reinterpret_cast<std::uintptr_t>(table + first * each), sizeof(*table) * each * pages);
    };
    return make(base + first * kPageBytes, pages * kPageBytes) && part(span_of, 1) && part(spans, 1) &&
           part(slots, kUnitsPerPage) && part(marks, kUnitsPerPage);
  }

  /// The mark that the block had.
  std::int64_t mark_freed(std::uint64_t offset) const {
    Mark& mark = *mark_at(marks, offset);
#if defined(__riscv)
    std::int64_t before;  // its sign extended, which compilers that do not know it would do once more
    asm volatile("amoswap.w %0, %2, %1" : "=r"(before), "+A"(mark) : "r"(std::int64_t{kFreedMark}));
    return before;
#else
    return __atomic_exchange_n(&mark, kFreedMark, __ATOMIC_RELAXED);
#endif
  }
  /// Undoes mark_freed() where there was no block. One may have begun there meanwhile: then its mark stays.
  void unmark(std::uint64_t offset) const {
    Mark freed = kFreedMark;
    __atomic_compare_exchange_n(mark_at(marks, offset), &freed, Mark{0}, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
  }
  /// Address of a block's mark, by one shift. `offset`: from the first address that `marks` covers.
  static Mark* mark_at(Mark* marks, std::uint64_t offset) {
    return reinterpret_cast<Mark*>(reinterpret_cast<std::uintptr_t>(marks) + offset / (kUnit / sizeof(Mark)));
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
