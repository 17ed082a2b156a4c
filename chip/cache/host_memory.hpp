// Host memory of the simulated caches: one arena on huge pages, since a lookup in a 64 MB LLC otherwise costs
// a TLB miss besides its cache miss.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory_resource>
#include <new>
#include <type_traits>

namespace rubato::chip {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Puts all later allocations of the program on huge pages, as far as the host has them; otherwise the state
/// of cores and tiles is spread over thousands of small pages. Call it before anything large is allocated. It
/// is a hint, and does nothing if the C library has no way to do it.
void put_heap_on_huge_pages();

/// Gives out blocks aligned to huge pages and asks the host to use them.
class HugePageResource final : public std::pmr::memory_resource {
 private:
  void* do_allocate(std::size_t bytes, std::size_t) override {
    const std::size_t alignment = bytes >= kHugePage ? kHugePage : 64;
    void* p = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (p == nullptr) throw std::bad_alloc();
    if (bytes >= kHugePage) madvise(p, bytes, MADV_HUGEPAGE);
    return p;
  }
  void do_deallocate(void* p, std::size_t, std::size_t) override { std::free(p); }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

/// Leaves new elements of a vector without a value: what no element is written to costs the host no page, and
/// no time. An element may be read once it has been assigned to.
template <class T>
class ValuelessAllocator : public std::pmr::polymorphic_allocator<T> {
  static_assert(std::is_trivially_copyable_v<T>, "an element begins to live when its memory is allocated");

 public:
  using std::pmr::polymorphic_allocator<T>::polymorphic_allocator;
  template <class U>
  void construct(U*) noexcept {}
  /// As the base class: a copy has the default resource.
  ValuelessAllocator select_on_container_copy_construction() const { return {}; }
};

/// An arena: allocations from it lie together, in order, and are freed with it.
class HostArena {
 public:
  /// `bytes`: about what will be allocated; more is possible.
  explicit HostArena(std::size_t bytes) : arena_(bytes, &pages_) {}
  std::pmr::memory_resource* resource() { return &arena_; }

 private:
  HugePageResource pages_;
  std::pmr::monotonic_buffer_resource arena_;
};

}  // namespace rubato::chip
