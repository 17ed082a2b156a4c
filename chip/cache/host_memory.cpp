// SPDX-License-Identifier: MIT
#include "chip/cache/host_memory.hpp"

#include <malloc.h>
#include <unistd.h>

#include <cstdint>

namespace rubato::chip {

void put_heap_on_huge_pages() {
#ifdef __GLIBC__
  constexpr int kAhead = 256 << 20, kLongestBlock = 32 << 20;
  // Longer blocks are mapped by themselves. Both limits stay where they are then: none is moved by what is
  // freed.
  mallopt(M_TOP_PAD, kAhead);
  mallopt(M_MMAP_THRESHOLD, kLongestBlock);
  void* const before = sbrk(0);
  void* volatile block = std::malloc(kLongestBlock - 4096);  // extends the heap, by kAhead more than it needs
  std::free(block);
  void* const after = sbrk(0);
  const auto first = (reinterpret_cast<std::uintptr_t>(before) + kHugePage - 1) / kHugePage * kHugePage;
  const auto end = reinterpret_cast<std::uintptr_t>(after);
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#endif
}

}  // namespace rubato::chip
