// Pages and chunks (T74). The memory limit is reserved as address space at start, so that the page of a
// chunk is a shift. A page has one class at a time, which `class_of` tells. All functions are called inside
// the slabs section; the class of a page in which the caller holds a chunk does not change, so `class_of` of
// that chunk needs no section.
//
// Invariant: a chunk below its page's fresh mark is either free (kFree, and in its class's free list unless
// its page is being moved) or belongs to one item.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <new>
#include <vector>

#include "cached/core/item.hpp"
#include "cached/core/pure.hpp"
#include "cached/core/slab_sizes.hpp"

namespace rubato::cached {

class Slabs {
 public:
  struct Class {
    Item* free = nullptr;
    std::uint64_t free_chunks = 0;
    char* fresh = nullptr;  ///< chunks of the newest page that were never used
    std::uint32_t fresh_left = 0;
    std::uint32_t pages = 0;
    std::uint64_t chunks_per_page = 0;
  };

  /// @param keep_to_limit  only `allocate_beyond` gives a class its first page beyond the limit
  Slabs(SlabSizes sizes, std::size_t limit, bool preallocate, bool keep_to_limit = false)
      : sizes_(sizes), keep_to_limit_(keep_to_limit), limit_(limit) {
    // A class may take its first page beyond the limit, and `cache_memlimit` may raise it.
    std::size_t reserved = limit * 4 + (std::size_t{kMaxClasses} << 20) + kPageSize;
    if (reserved < (std::size_t{1} << 36)) reserved = std::size_t{1} << 36;
    void* memory = MAP_FAILED;
    while (memory == MAP_FAILED && reserved > limit + kPageSize) {
      memory = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) reserved /= 2;
    }
    if (memory == MAP_FAILED) throw std::bad_alloc();
    mapping_ = memory, mapped_ = reserved;
    const auto address = (reinterpret_cast<std::uintptr_t>(memory) + kPageSize - 1) & ~(kPageSize - 1);
    base_ = reinterpret_cast<char*>(address);
    page_class_.assign((reserved - (address - reinterpret_cast<std::uintptr_t>(memory))) >> 20, 0);
    pool_.reserve(page_class_.size());
    returned_.reserve(page_class_.size());
    for (unsigned c = 1; c <= sizes_.last(); ++c) classes_[c].chunks_per_page = kPageSize / sizes_.size_of(c);
    if (preallocate) {
      for (unsigned c = 1; c <= sizes_.last(); ++c)
        if (!grow(c, /*beyond=*/true)) throw std::bad_alloc();
    }
  }
  ~Slabs() { munmap(mapping_, mapped_); }
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;

  const SlabSizes& sizes() const { return sizes_; }
  const Class& slab_class(unsigned c) const { return classes_[c]; }
  std::size_t limit() const { return limit_; }
  std::size_t allocated() const { return allocated_; }
  std::size_t pool_pages() const { return pool_.size(); }
  std::size_t page_count() const { return pages_used_; }
  std::size_t page_of(const void* chunk) const {
    return static_cast<std::size_t>(static_cast<const char*>(chunk) - base_) >> 20;
  }
  unsigned class_of(const void* chunk) const { return page_class_[page_of(chunk)]; }
  unsigned class_of_page(std::size_t page) const { return page_class_[page]; }
  char* page_address(std::size_t page) const { return base_ + (page << 20); }

  /// The limit from now on; pages in use beyond it stay, the pool is given back to the system.
  bool set_limit(std::size_t bytes) {
    if (bytes / kPageSize + kMaxClasses > page_class_.size()) return false;
    limit_ = bytes;
    return true;
  }

  /// A chunk of the class with all header fields zero, or null if memory is at its limit.
  Item* allocate(unsigned c) { return allocate_from(c, /*beyond=*/!keep_to_limit_); }
  /// The same, and a class without a page gets its first one though memory is at its limit.
  Item* allocate_beyond(unsigned c) { return allocate_from(c, /*beyond=*/true); }

  void free(Item* chunk) {
    const std::size_t page = page_of(chunk);
    Class& k = classes_[page_class_[page]];
    chunk->bits = Item::kFree;
    if (page == moving_) return;
    chunk->previous = nullptr, chunk->next = k.free;
    if (k.free) k.free->previous = chunk;
    k.free = chunk;
    ++k.free_chunks;
  }

  std::uint64_t free_in(unsigned c) const { return classes_[c].free_chunks + classes_[c].fresh_left; }
  bool at_limit() const { return pool_.empty() && allocated_ + kPageSize > limit_; }

  // --- the mover's part -----------------------------------------------------------------------------------
  static constexpr std::size_t kNoPage = ~std::size_t{0};
  std::size_t moving() const { return moving_; }
  /// From now on chunks of this page that become free are not given out. Returns how many chunks were ever
  /// used.
  std::uint32_t begin_move(std::size_t page) {
    Class& k = classes_[page_class_[page]];
    moving_ = page;
    auto used = static_cast<std::uint32_t>(k.chunks_per_page);
    if (k.fresh_left && page_of(k.fresh) == page) {
      used -= k.fresh_left;
      k.fresh_left = 0;
    }
    return used;
  }
  /// Takes a free chunk of the moving page out of the free list, if it is there.
  void withdraw(Item* chunk) {
    Class& k = classes_[page_class_[moving_]];
    if (chunk->previous || chunk->next || k.free == chunk) unlink_free(k, chunk);
    chunk->previous = chunk->next = nullptr;
  }
  /// The moving page holds nothing any more: it goes to class `to`, or to the pool for 0.
  void end_move(unsigned to) {
    --classes_[page_class_[moving_]].pages;
    const std::size_t page = moving_;
    moving_ = kNoPage;
    page_class_[page] = 0;
    if (to && !classes_[to].fresh_left) {
      give(to, page);
    } else if (allocated_ > limit_) {
      // Memory above a lowered limit goes back to the system, its address space to the pages not yet used.
      close_page(page_address(page));
      allocated_ -= kPageSize;
      returned_.push(page);
    } else {
      pool_.push(page);
    }
  }
  /// The page stays with its class: what is free in it can be given out again. Longer than a slice, and rare:
  /// a value that was being sent all the time.
  void abandon_move(std::uint32_t used) {
    const std::size_t page = moving_, size = sizes_.size_of(page_class_[page]);
    const auto all = static_cast<std::uint32_t>(kPageSize / size);
    moving_ = kNoPage;
    for (std::uint32_t n = 0; n < all; ++n) {
      auto* chunk = reinterpret_cast<Item*>(page_address(page) + n * size);
      if (n >= used || chunk->is(Item::kFree)) free(chunk);
    }
  }

 private:
  // System calls that a transaction may repeat: the page is of this caller alone, and empty.
  RUBATO_CACHED_PURE static bool open_page(char* page) {
    return mprotect(page, kPageSize, PROT_READ | PROT_WRITE) == 0;
  }
  RUBATO_CACHED_PURE static void close_page(char* page) { madvise(page, kPageSize, MADV_DONTNEED); }

  /// Page numbers, last in first out; room for all is there from the start, since sections do not allocate.
  class PageStack {
   public:
    void reserve(std::size_t most) { pages_.resize(most); }
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    void push(std::size_t page) { pages_[size_++] = static_cast<std::uint32_t>(page); }
    std::size_t pop() { return pages_[--size_]; }

   private:
    std::vector<std::uint32_t> pages_;
    std::size_t size_ = 0;
  };

  void unlink_free(Class& k, Item* chunk) {
    if (chunk->previous)
      chunk->previous->next = chunk->next;
    else
      k.free = chunk->next;
    if (chunk->next) chunk->next->previous = chunk->previous;
    --k.free_chunks;
  }
  Item* allocate_from(unsigned c, bool beyond) {
    Class& k = classes_[c];
    if (!k.free && !k.fresh_left && !grow(c, beyond)) return nullptr;
    Item* chunk = k.free;
    if (chunk) {
      unlink_free(k, chunk);
    } else {
      chunk = reinterpret_cast<Item*>(k.fresh);
      k.fresh += sizes_.size_of(c), --k.fresh_left;
    }
    chunk->next = chunk->previous = chunk->chain = nullptr;
    chunk->bits = 0, chunk->references = 0;
    return chunk;
  }
  bool grow(unsigned c, bool beyond) {
    std::size_t page;
    if (!pool_.empty()) {
      page = pool_.pop();
    } else {
      if (allocated_ + kPageSize > limit_ && (classes_[c].pages || !beyond)) return false;
      if (!returned_.empty()) {
        page = returned_.pop();
      } else {
        if (pages_used_ == page_class_.size() - 1) return false;
        page = pages_used_;
        if (!open_page(page_address(page))) return false;
        ++pages_used_;
      }
      allocated_ += kPageSize;
    }
    give(c, page);
    return true;
  }
  void give(unsigned c, std::size_t page) {
    Class& k = classes_[c];
    page_class_[page] = static_cast<std::uint8_t>(c);
    ++k.pages;
    k.fresh = page_address(page);
    k.fresh_left = static_cast<std::uint32_t>(k.chunks_per_page);
  }

  SlabSizes sizes_;
  bool keep_to_limit_;
  std::size_t limit_, allocated_ = 0, pages_used_ = 0, mapped_ = 0, moving_ = kNoPage;
  void* mapping_ = nullptr;
  char* base_ = nullptr;
  std::vector<std::uint8_t> page_class_;
  PageStack pool_, returned_;
  std::array<Class, kMaxClasses> classes_{};
};

}  // namespace rubato::cached
