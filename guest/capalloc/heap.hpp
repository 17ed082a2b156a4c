// capalloc without its capsules (P69 to P75): caches of blocks, one a core, above central lists, one a
// size class, above the page heap. A core's cache needs no lock, since a task leaves the allocator before
// another one runs on its core; threads outside tasks, which can be interrupted anywhere, share one more
// cache under a lock. System, which tests replace, has:
//
//   Lock                        first come, first served
//   is_task(), core(), cores()  the caller
//   reserve(bytes, is_known)    address space without memory; is_known: for what is known of blocks. 0: none
//   commit(begin, bytes)        memory for a part of it; false: none
//
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "guest/capalloc/central_list.hpp"
#include "guest/capalloc/depot.hpp"

namespace rubato::capalloc {

enum class GiveError : std::uint8_t { none, no_block, freed_before };

/// Up to `most_bytes` of a class, within 4 and 128 blocks.
constexpr std::uint32_t cache_capacity(unsigned size_class) {
  return std::clamp<std::uint32_t>((32 << 10) / kClassBytes[size_class], 4, 128);
}

struct Taken {
  std::uint64_t address;   ///< 0: grow(), then once more
  std::uint64_t is_fresh;  ///< reads as zero
};

struct Lengthened {
  std::uint32_t number = 0;  ///< of the resize, by which it is undone; 0: there were too few pages behind
  std::uint32_t pages_before = 0;  ///< of the block
  bool grow_helps = false;         ///< grow(), then once more: no block is behind
};

template <class System>
class Heap {
  struct Cache;

 public:
  bool is_set() const { return arena_.base != 0; }

  /// Once, before all else. False: no address space.
  bool set() {
    cores_ = System::cores();
    const std::uint64_t caches =
        (cores_ + 1) * (sizeof(Cache) + sizeof(Stacks)) + kSizeClasses * kDepotBatches * sizeof(Batch);
    const std::uintptr_t blocks = System::reserve(kArenaBytes + kPageBytes, false);
    const std::uintptr_t known = System::reserve(Arena::kKnownBytes + kPageBytes + caches, true);
    if (blocks == 0 || known == 0) return false;
    const auto aligned = [](std::uintptr_t p) { return (p + kPageBytes - 1) / kPageBytes * kPageBytes; };
    const std::uintptr_t at = aligned(known) + Arena::kKnownBytes;
    if (!System::commit(at, caches)) return false;
    caches_ = reinterpret_cast<Cache*>(at);
    caches_before_ = reinterpret_cast<Cache*>(at - sizeof(Cache));
    auto* const stacks = reinterpret_cast<Stacks*>(caches_ + cores_ + 1);
    for (std::uint32_t c = 0; c <= cores_; ++c) caches_[c].set(stacks[c]);
    batches_ = reinterpret_cast<Batch*>(stacks + cores_ + 1);
    arena_.place(aligned(blocks), aligned(known));
    marks_ = arena_.marks - arena_.base / kUnit;
    return true;
  }

  /// A block of at least `bytes`, aligned to 16, or to as much as its class allows.
  Taken take(std::uint64_t bytes) {
    if (bytes <= kLargestSmallBlock) return {take_small(size_class_of(bytes)), 0};
    return take_large(bytes, 1);
  }
  /// @param alignment a power of two.
  Taken take(std::uint64_t bytes, std::uint64_t alignment) {
    if (const std::uint64_t small = small_bytes(bytes, alignment); small != 0)
      return {take_small(size_class_of(small)), 0};
    return take_large(std::max(bytes, std::uint64_t{1}),
                      alignment <= kPageBytes ? 1 : static_cast<std::uint32_t>(alignment / kPageBytes));
  }

  /// How much to ask for to get a small block with that alignment, a power of two: the next multiple of it,
  /// since then the class's size is one, too. 0: only whole pages will do.
  static constexpr std::uint64_t small_bytes(std::uint64_t bytes, std::uint64_t alignment) {
    if (bytes > kLargestSmallBlock || alignment > kPageBytes) return 0;
    return (std::max(bytes, std::uint64_t{1}) + alignment - 1) & -alignment;
  }

  /// Cache of the tasks that run on `core`.
  Cache& cache_of(std::uint64_t core) { return caches_[core]; }
  /// The same, by the core's number and 1.
  Cache& cache_before(std::int64_t next_core) { return caches_before_[next_core]; }

  /// From that cache alone: 0 if it has none. The class is that of a small block.
  [[gnu::always_inline]] std::uint64_t take_cached(std::uint64_t bytes, Cache& cache) {
    const Mark mark = sizes_[(bytes + 15) / kUnit].mark;
    return pop(cache.bin(mark), mark);
  }

  /// The block may be handed out again.
  GiveError give(std::uint64_t address) {
    return give_marked(address, is_block(address) ? arena_.mark_freed(address - arena_.base) : kNoBlock);
  }

  /// Mark that give_marked() gets for an address that is no block.
  static constexpr std::int64_t kNoBlock = INT32_MIN;
  /// Gives it to that cache, if it has room; otherwise(address, mark) is to see to give_marked().
  template <class Otherwise>
  [[gnu::always_inline]] void give_cached(std::uint64_t address, Cache& cache, Otherwise otherwise) {
    if (!is_block(address)) [[unlikely]]
      return otherwise(address, kNoBlock);
    // By one atomic instruction: two frees of a block may come at once.
    const std::int64_t mark = arena_.mark_freed(address - arena_.base);
    if (mark <= 0) [[unlikely]]
      return otherwise(address, mark);
    Bin& bin = cache.bin(mark);
    if (bin.top == bin.limit) [[unlikely]]
      return otherwise(address, mark);
    *bin.top++ = address;
  }
  [[gnu::noinline]] GiveError give_marked(std::uint64_t address, std::int64_t mark) {
    if (mark == kNoBlock) return GiveError::no_block;
    const BlockNumber block = number(address);
    if (mark == 0) {
      arena_.unmark(address - arena_.base);
      return GiveError::no_block;
    }
    if (mark == kFreedMark) return GiveError::freed_before;
    if (mark == kLargeMark) {
      const Locked guard(pages_.lock);
      const PageNumber first = block / kUnitsPerPage;
      pages_.heap.give(arena_, first, arena_.spans[first].pages);
    } else if (System::is_task()) {
      give_to(caches_[System::core()], class_of_mark(mark), address);
    } else {
      const Locked guard(shared_lock_);
      give_to(caches_[cores_], class_of_mark(mark), address);
    }
    return GiveError::none;
  }

  /// Bytes of a block in use, 0 of anything else. The caller may rely on them: a resize before is not undone.
  std::uint64_t usable(std::uint64_t address) {
    const Mark mark = mark_of(address);
    if (mark > 0) return kClassBytes[class_of_mark(mark)];
    if (mark != kLargeMark) return 0;
    Span& span = arena_.spans[number(address) / kUnitsPerPage];
    if (__atomic_load_n(&span.resized, __ATOMIC_RELAXED) != 0) {
      const Locked guard(pages_.lock);
      span.resized = 0;
      return span.pages * kPageBytes;
    }
    return span.pages * kPageBytes;
  }

  /// Makes a large block longer by the free pages behind it. Nothing is copied, and no other block is
  /// touched.
  Lengthened lengthen(std::uint64_t address, std::uint64_t bytes) {
    const Locked guard(pages_.lock);
    if (bytes > kArenaBytes || mark_of(address) != kLargeMark) return {};
    const PageNumber first = number(address) / kUnitsPerPage;
    Span& span = arena_.spans[first];
    const std::uint32_t before = span.pages, pages = pages_of(bytes);
    if (pages <= before) return {};
    if (!pages_.heap.lengthen(arena_, first, pages)) return {0, 0, pages_.heap.is_last(arena_, first)};
    resizes_ += resizes_ == UINT32_MAX ? 2 : 1;
    span.resized = resizes_;
    return {resizes_, before, false};
  }
  /// Undoes it, unless the block has been resized, freed, or asked for its size since.
  void undo_lengthen(std::uint64_t address, std::uint32_t number_of_it, std::uint32_t pages_before) {
    const Locked guard(pages_.lock);
    if (mark_of(address) != kLargeMark) return;
    const PageNumber first = number(address) / kUnitsPerPage;
    Span& span = arena_.spans[first];
    if (span.resized != number_of_it) return;
    span.resized = 0;
    pages_.heap.shorten(arena_, first, pages_before);
  }
  /// Gives back the pages of a large block that `bytes`, more than those of small blocks, do not need. Not
  /// speculatively: nothing undoes it.
  bool shorten(std::uint64_t address, std::uint64_t bytes) {
    const Locked guard(pages_.lock);
    if (mark_of(address) != kLargeMark) return false;
    const PageNumber first = number(address) / kUnitsPerPage;
    Span& span = arena_.spans[first];
    if (pages_of(bytes) > span.pages) return false;
    span.resized = 0;
    pages_.heap.shorten(arena_, first, pages_of(bytes));
    return true;
  }

  /// Makes room for a block of `bytes` with that alignment. Not speculatively: it makes system calls under a
  /// lock that nothing speculative takes. False: no memory.
  bool grow(std::uint64_t bytes, std::uint64_t alignment) {
    if (bytes > kArenaBytes || alignment > kArenaBytes) return false;
    const Locked guard(grow_lock_);
    const PageNumber end = pages_.heap.end();
    const std::uint64_t wanted = (bytes + kPageBytes - 1) / kPageBytes + alignment / kPageBytes;
    // A promotion each: the more there is, the more is added.
    const std::uint64_t more =
        std::max({wanted, std::uint64_t{kLeastGrowth}, std::uint64_t{std::min(end, kMostGrowth)}});
    const std::uint32_t left = kPages - end;
    const auto pages = static_cast<std::uint32_t>(std::min<std::uint64_t>(more, left));
    if (pages < wanted || !arena_.commit(end, pages, System::commit)) return false;
    const Locked all(pages_.lock);
    pages_.heap.extend(arena_, pages);
    __atomic_store_n(&bytes_, pages_.heap.end() * kPageBytes, __ATOMIC_RELEASE);
    return true;
  }

  /// Consistency check: a sentence about the first fault, or null. The caller has the heap for itself.
  const char* check();

 private:
  using Lock = typename System::Lock;
  static constexpr std::uint32_t kLeastGrowth = 128, kMostGrowth = 8192;  // pages: 1 and 64 MiB

  /// A stack of blocks, above a 0 that says that there are none.
  struct alignas(kBinBytes) Bin {
    std::uint64_t* top;    ///< the first place that is empty
    std::uint64_t* limit;  ///< behind the last
    BatchNumber empty;     ///< for the next half that it gives

    std::uint64_t* bottom(unsigned size_class) const { return limit - cache_capacity(size_class); }
  };
  /// Memory of one core's bins: their blocks, each stack above a 0. The size is no power of two. Otherwise
  /// the stacks of a tile's cores would share the same sets of its L2.
  struct alignas(64) Stacks {
    std::uint64_t blocks[kSizeClasses][8 + cache_capacity(0)];
  };
  struct alignas(1024) Cache {
    Bin bins[1 + kSizeClasses];  ///< the first is none's: a mark above 0 is the offset of its bin

    /// Bin of the blocks that have this mark while in use.
    Bin& bin(std::int64_t mark) {
      return *reinterpret_cast<Bin*>(reinterpret_cast<std::uintptr_t>(bins) +
                                     static_cast<std::uint64_t>(mark));
    }
    void set(Stacks& stacks) {
      for (unsigned k = 0; k < kSizeClasses; ++k) {
        std::uint64_t* const bottom = stacks.blocks[k] + 1;
        bin(mark_of_class(k)) = {bottom, bottom + cache_capacity(k), 0};
      }
    }
  };
  /// Class of blocks of 16 * i bytes. An entry has 16 bytes, so that a size in bytes, rounded up, is the
  /// offset of its entry.
  struct alignas(kUnit) Size {
    Mark mark;
  };
  static constexpr auto kSizes = [] {
    std::array<Size, kClassOfUnits.size()> sizes{};
    for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = {mark_of_class(kClassOfUnits[i])};
    return sizes;
  }();

  static std::uint32_t pages_of(std::uint64_t bytes) {
    return static_cast<std::uint32_t>((bytes + kPageBytes - 1) / kPageBytes);
  }
  BlockNumber number(std::uint64_t address) const {
    return static_cast<BlockNumber>((address - arena_.base) / kUnit);
  }
  /// Whether the address may be a block: the arena has a mark for it.
  [[gnu::always_inline]] bool is_block(std::uint64_t address) const {
    const std::uint64_t offset = address - arena_.base;
    return offset % kUnit == 0 && offset < __atomic_load_n(&bytes_, __ATOMIC_RELAXED);
  }
  Mark mark_of(std::uint64_t address) const {
    return is_block(address) ? __atomic_load_n(&arena_.marks[number(address)], __ATOMIC_RELAXED) : 0;
  }

  /// 0: there is none. Else its mark is that now.
  [[gnu::always_inline]] std::uint64_t pop(Bin& bin, Mark mark) {
    const std::uint64_t address = bin.top[-1];
    if (address == 0) [[unlikely]]
      return 0;
    --bin.top;
    *Arena::mark_at(marks_, address) = mark;  // an atomic store of a word is an amoswap with some compilers
    return address;
  }

  [[gnu::noinline]] std::uint64_t take_small(unsigned size_class) {
    if (System::is_task()) return take_from(caches_[System::core()], size_class);
    const Locked guard(shared_lock_);
    return take_from(caches_[cores_], size_class);
  }
  std::uint64_t take_from(Cache& cache, unsigned size_class) {
    const Mark mark = mark_of_class(size_class);
    Bin& bin = cache.bin(mark);
    const std::uint64_t address = pop(bin, mark);
    if (address != 0) return address;
    refill(bin, size_class);
    return pop(bin, mark);
  }
  void refill(Bin& bin, unsigned size_class) {
    const std::uint32_t half = cache_capacity(size_class) / 2;
    if (const BatchNumber full = depots_[size_class].take_full(bin.empty); full != 0) {
      bin.top = std::copy_n(batch(size_class, full).blocks, half, bin.top);
      bin.empty = full;
      return;
    }
    BlockNumber blocks[cache_capacity(0) / 2];
    const std::uint32_t count = central_[size_class].fetch(arena_, pages_, size_class, blocks, half);
    for (std::uint32_t i = 0; i < count; ++i) *bin.top++ = arena_.address(blocks[i]);
  }

  void give_to(Cache& cache, unsigned size_class, std::uint64_t address) {
    Bin& bin = cache.bin(mark_of_class(size_class));
    if (bin.top == bin.limit) give_half(bin, size_class);
    *bin.top++ = address;
  }
  /// Gives the older half: blocks freed last are likely to be in the core's L1.
  void give_half(Bin& bin, unsigned size_class) {
    std::uint64_t* const bottom = bin.bottom(size_class);
    const auto half = (bin.top - bottom) / 2;
    Depot<Lock>& depot = depots_[size_class];
    const BatchNumber empty = bin.empty != 0 ? bin.empty : depot.take_empty();
    bin.empty = 0;
    if (empty != 0) {
      std::copy_n(bottom, half, batch(size_class, empty).blocks);
      depot.give_full(empty);
    } else {
      BlockNumber blocks[cache_capacity(0) / 2];
      for (std::ptrdiff_t i = 0; i < half; ++i) blocks[i] = number(bottom[i]);
      central_[size_class].give_back(arena_, pages_, size_class, blocks, static_cast<std::uint32_t>(half));
    }
    bin.top = std::copy(bottom + half, bin.top, bottom);
  }
  Batch& batch(unsigned size_class, BatchNumber batch) const {
    return batches_[size_class * kDepotBatches + (batch - 1)];
  }

  /// @param aligned in pages.
  [[gnu::noinline]] Taken take_large(std::uint64_t bytes, std::uint32_t aligned) {
    if (bytes > kArenaBytes) return {0, 0};
    const std::uint32_t pages = pages_of(bytes);
    const Locked guard(pages_.lock);
    PageHeap& heap = pages_.heap;
    const PageNumber found = heap.take(arena_, pages + aligned - 1);
    if (found == 0) return {0, 0};
    PageNumber first = found - 1;
    const bool is_fresh = arena_.spans[first].is_fresh;
    if (aligned > 1) {
      const std::uint64_t page = arena_.base / kPageBytes + first;
      const auto before = static_cast<std::uint32_t>((aligned - page % aligned) % aligned),
                 behind = aligned - 1 - before;
      first += before;
      arena_.set_span(first, pages, Span::State::large, is_fresh);
      if (before > 0) {
        arena_.set_span(first - before, before, Span::State::large, is_fresh);
        heap.give(arena_, first - before, before, is_fresh);
      }
      if (behind > 0) {
        arena_.set_span(first + pages, behind, Span::State::large, is_fresh);
        heap.give(arena_, first + pages, behind, is_fresh);
      }
    }
    const BlockNumber block = first * kUnitsPerPage;
    __atomic_store_n(&arena_.marks[block], kLargeMark, __ATOMIC_RELAXED);
    return {arena_.address(block), is_fresh};
  }

  // Members that never change after the start, apart from those that do.
  Arena arena_;
  Cache* caches_ = nullptr;         ///< of each core, and of threads
  Cache* caches_before_ = nullptr;  ///< as if one came before
  Mark* marks_ = nullptr;           ///< the mark of an address is marks_[address / kUnit]
  std::uint64_t bytes_ = 0;         ///< of the arena: all usable pages
  Batch* batches_ = nullptr;        ///< kDepotBatches of each class
  std::uint32_t cores_ = 0;
  std::array<Size, kSizes.size()> sizes_ = kSizes;  ///< beside what malloc looks at, too
  LockedPages<Lock> pages_;
  std::uint32_t resizes_ = 0;  ///< under the lock of pages_
  alignas(64) Lock shared_lock_;
  Lock grow_lock_;
  Depot<Lock> depots_[kSizeClasses];
  CentralList<Lock> central_[kSizeClasses];
};

}  // namespace rubato::capalloc

#include "guest/capalloc/check.hpp"
