// Host memory of large simulated arrays: big blocks are aligned to huge pages and the host is asked to use
// them, since a lookup in a 64 MB LLC otherwise costs a TLB miss besides its cache miss (chip.md section 9).
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

namespace rubato::chip {

template <class T>
struct HugePageAllocator {
  using value_type = T;
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;

  HugePageAllocator() = default;
  template <class U>
  HugePageAllocator(const HugePageAllocator<U>&) {}

  T* allocate(std::size_t n) {
    const std::size_t bytes = n * sizeof(T);
    const bool huge = bytes >= kHugePage;
    const std::size_t alignment = huge ? kHugePage : 64;
    void* p = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (p == nullptr) throw std::bad_alloc();
    if (huge) madvise(p, bytes, MADV_HUGEPAGE);
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t) { std::free(p); }
  friend bool operator==(const HugePageAllocator&, const HugePageAllocator&) { return true; }
};

template <class T>
using HostVector = std::vector<T, HugePageAllocator<T>>;

}  // namespace rubato::chip
