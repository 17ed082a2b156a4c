// Memory of resources (make_resource): blocks of whole cache lines, close together in slabs that ask for huge
// pages. Programs reach resources in no order, and most of the cost of that is address translation. The
// general heap gives neither. Nothing is returned to the system: freed blocks are used again for their size.
// Allocation is rare beside task creation: a mutex. Under AddressSanitizer every block is an allocation of
// its own. Resources of a NUMA node (make_resource_on) have slabs of their node (placed_blocks.hpp).
// SPDX-License-Identifier: MIT
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include "native/memory/placed_blocks.hpp"
#include "rubato/engine/native_heap.hpp"
#include "rubato/numa.hpp"
#include "rubato/resource.hpp"

namespace rubato::inline v0::native {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kMaxLines = 64;  // larger blocks: the general heap
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kSmallestSlab = std::size_t{64} << 10;
constexpr std::size_t kLargestSlab = std::size_t{32} << 20;

class ResourceHeap {
 public:
  void* allocate(std::size_t lines) {
    const std::lock_guard lock(mutex_);
    if (Free* const block = free_[lines]) {
      free_[lines] = block->next;
      return block;
    }
    const std::size_t bytes = lines * kLine;
    if (static_cast<std::size_t>(end_ - next_) < bytes) take_slab();
    void* const block = next_;
    next_ += bytes;
    return block;
  }

  void free(void* block, std::size_t lines) {
    const std::lock_guard lock(mutex_);
    free_[lines] = ::new (block) Free{free_[lines]};
  }

 private:
  struct Free {
    Free* next;
  };

  /// Each as large as all before together: few programs have many resources.
  void take_slab() {
    const std::size_t bytes = std::clamp(taken_, kSmallestSlab, kLargestSlab);
    const std::size_t alignment = bytes < kHugePage ? kLine : kHugePage;
    auto* const slab = static_cast<std::byte*>(std::aligned_alloc(alignment, bytes));
    if (slab == nullptr) throw std::bad_alloc();
    if (bytes >= kHugePage)
      madvise(slab, bytes, MADV_HUGEPAGE);  // a hint; without it everything works as well
    taken_ += bytes;
    next_ = slab;
    end_ = slab + bytes;
  }

  std::mutex mutex_;
  std::byte* next_ = nullptr;  // what is left of the last slab
  std::byte* end_ = nullptr;
  std::size_t taken_ = 0;  // from the system: a power of two, at least until slabs have their largest size
  std::array<Free*, kMaxLines + 1> free_{};
};

// Neither made at run time, which could fail, nor destroyed: static objects of the program may own resources.
constinit ResourceHeap resource_heap;
static_assert(std::is_trivially_destructible_v<ResourceHeap>);

/// How many lines of the heap a block takes; 0: it comes from the general heap.
std::size_t lines_of(std::size_t bytes, std::align_val_t alignment) {
#if defined(RUBATO_POISONS_MEMORY)
  static_cast<void>(bytes), static_cast<void>(alignment);
  return 0;
#else
  if (static_cast<std::size_t>(alignment) > kLine || bytes > kMaxLines * kLine) return 0;
  return (bytes + kLine - 1) / kLine;
#endif
}

constexpr std::uint32_t kAnyNode = ~std::uint32_t{0};
/// On which node this thread's resources lie.
constinit thread_local std::uint32_t wanted_node = kAnyNode;
/// Whether there may be blocks of a node. Set before the first one is known: the thread that frees it sees
/// that.
constinit std::atomic<bool> has_placed{false};

/// Never destroyed: static objects of the program may own resources.
PlacedBlocks& placed_blocks() {
  static PlacedBlocks& blocks = *new PlacedBlocks;
  return blocks;
}

}  // namespace
}  // namespace rubato::inline v0::native

namespace rubato::inline v0 {

engine::NodeScope::NodeScope(std::uint32_t node) : before_(native::wanted_node) {
  native::begin_placing();
  native::wanted_node = node;
}
engine::NodeScope::~NodeScope() { native::wanted_node = before_; }

std::uint64_t numa_bytes(unsigned node) { return native::placed_blocks().bytes_on(node); }

}  // namespace rubato::inline v0

namespace rubato::inline v0::engine {

void* allocate_resource(std::size_t bytes, std::align_val_t alignment) {
  if (native::wanted_node != native::kAnyNode) [[unlikely]] {
    void* const block =
        native::placed_blocks().allocate(bytes, static_cast<std::size_t>(alignment), native::wanted_node);
    if (block != nullptr) {
      native::has_placed.store(true, std::memory_order_relaxed);
      return block;
    }
  }
  const std::size_t lines = native::lines_of(bytes, alignment);
  return lines != 0 ? native::resource_heap.allocate(lines) : ::operator new(bytes, alignment);
}

void free_resource(void* block, std::size_t bytes, std::align_val_t alignment) {
  if (native::has_placed.load(std::memory_order_relaxed) && native::placed_blocks().free(block, bytes))
    return;
  const std::size_t lines = native::lines_of(bytes, alignment);
  if (lines != 0) return native::resource_heap.free(block, lines);
  ::operator delete(block, alignment);  // not the one that takes the size, too: clang before 19 has none
}

}  // namespace rubato::inline v0::engine
