// The native engine's task memory behind the workers' own heaps: core groups and the global level. Hands out
// batches only; the single block is WorkerHeap's (include/rubato/engine/native_heap.hpp).
// R8; MxTasking, Sec. 5.2 and Fig. 8.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "native/pool/atomics.hpp"
#include "rubato/engine/native_heap.hpp"

namespace rubato::inline v0::native {

using engine::WorkerHeap;

/// Addresses of free blocks of one size, on their way between levels: full or empty, never in between.
struct Batch {
  static constexpr std::size_t kBlocks = 64;
  Batch* next;   ///< in a list
  Batch* older;  ///< of all of a TaskHeap
  std::array<void*, kBlocks> blocks;
};

/// Linked through what is in it, so that giving memory back needs none.
template <class Element>
class FreeList {
 public:
  bool is_empty() const { return first_ == nullptr; }
  void push(Element* element) {
    element->next = first_;
    first_ = element;
  }
  /// Precondition: the list is not empty.
  Element* pop() {
    Element* const element = first_;
    first_ = element->next;
    return element;
  }

 private:
  Element* first_ = nullptr;
};

/// A bounded bag of batches, last in first out without contention. Lock-free: a batch is owned by the thread
/// that exchanged it out of its slot. So no address is ever compared, and none can be mistaken (no ABA).
class BatchBag {
 public:
  static constexpr unsigned kSlots = 32;
  /// False: no free slot; the batch stays the caller's.
  bool put(Batch* batch);
  /// Null: found none.
  Batch* take();

 private:
  std::array<Atomic<Batch*>, kSlots> slots_{};
  Atomic<unsigned> height_{0};  // where to look first; a hint
};

/// The shared levels. A worker takes and returns batches of 64 blocks; its group keeps up to 32 full batches
/// of a size. Others go to the global level of the group's NUMA node, where a mutex guards them. Nothing is
/// returned to the system before the TaskHeap ends.
///
/// A worker keeps the blocks that it frees: memory follows the workers, also across NUMA nodes, as in the
/// paper. Fresh memory is first touched by the worker that uses it, which places it on that worker's node.
class TaskHeap {
 public:
  struct Options {
    /// The NUMA node of each core group. At least one group.
    std::vector<unsigned> group_nodes = {0};
    /// Every allocation and every free goes to malloc: what the heap is measured against.
    bool uses_malloc = false;
  };
  TaskHeap() : TaskHeap(Options{}) {}
  explicit TaskHeap(const Options& options);
  ~TaskHeap();
  TaskHeap(const TaskHeap&) = delete;
  TaskHeap& operator=(const TaskHeap&) = delete;

  unsigned groups() const { return static_cast<unsigned>(groups_.size()); }
  /// Memory taken from the system so far.
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  friend class engine::WorkerHeap;
  static constexpr unsigned kSizes = 2;
  static constexpr std::size_t kSlabBytes = std::size_t{2} << 20;

  struct alignas(64) Group {
    std::array<BatchBag, kSizes> full;
    BatchBag empty;
    unsigned node = 0;  // index into nodes_
  };
  /// The state of a NUMA node that the mutex guards.
  struct Node {
    std::array<FreeList<Batch>, kSizes> full;
    std::array<void*, kSizes>
        loose{};  // linked blocks, of workers that ended and where no Batch was to be had
    std::byte* next_fresh = nullptr;
    std::byte* end_fresh = nullptr;
  };
  static constexpr std::size_t block_bytes(unsigned size) { return std::size_t{64} << size; }

  /// Fills `blocks` with kBlocks addresses.
  void take_blocks(unsigned group, unsigned size, void** blocks);
  // The following take no memory, or can do without.
  void return_blocks(unsigned group, unsigned size, void* const* blocks) noexcept;
  void return_loose(unsigned group, unsigned size, void* const* begin, void* const* end) noexcept;
  void take_fresh(Node& node, unsigned size, void** blocks);
  /// Null: no memory.
  Batch* take_empty(Group& group) noexcept;

  const bool uses_malloc_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::atomic<std::size_t> bytes_{0};
  std::mutex mutex_;
  std::vector<Node> nodes_;
  Batch* batches_ = nullptr;  // all
  FreeList<Batch> empty_;
  std::vector<std::byte*> slabs_;
};

}  // namespace rubato::inline v0::native
