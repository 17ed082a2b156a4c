// See task_heap.hpp.
// SPDX-License-Identifier: MIT
#include "native/memory/task_heap.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

namespace rubato::inline v0::native {

bool BatchBag::put(Batch* batch) {
  const unsigned start = height_.load(std::memory_order_relaxed);
  for (unsigned i = 0; i < kSlots; ++i) {
    const unsigned slot = (start + i) % kSlots;
    Batch* expected = nullptr;
    if (slots_[slot].load(std::memory_order_relaxed) == nullptr &&
        slots_[slot].compare_exchange_strong(expected, batch, std::memory_order_release,
                                             std::memory_order_relaxed)) {
      height_.store((slot + 1) % kSlots, std::memory_order_relaxed);
      return true;
    }
  }
  return false;
}

Batch* BatchBag::take() {
  const unsigned start = height_.load(std::memory_order_relaxed) + kSlots - 1;
  for (unsigned i = 0; i < kSlots; ++i) {
    const unsigned slot = (start - i) % kSlots;
    if (slots_[slot].load(std::memory_order_relaxed) == nullptr) continue;
    if (Batch* const batch = slots_[slot].exchange(nullptr, std::memory_order_acquire)) {
      height_.store(slot, std::memory_order_relaxed);
      return batch;
    }
  }
  return nullptr;
}

TaskHeap::TaskHeap(const Options& options) : uses_malloc_(options.uses_malloc) {
  if (options.group_nodes.empty()) throw std::invalid_argument("a TaskHeap needs at least one core group");
  nodes_.resize(1 + *std::max_element(options.group_nodes.begin(), options.group_nodes.end()));
  for (const unsigned node : options.group_nodes) {
    groups_.push_back(std::make_unique<Group>());
    groups_.back()->node = node;
  }
}

TaskHeap::~TaskHeap() {
  for (std::byte* slab : slabs_) {
    engine::unpoison(slab, kSlabBytes);
    std::free(slab);
  }
  while (batches_ != nullptr) delete std::exchange(batches_, batches_->older);
}

namespace {

/// A free block in a list: only its first word is used, and it stays poisoned.
void push_block(void*& list, void* block) {
  engine::unpoison(block, sizeof(list));
  std::memcpy(block, &list, sizeof(list));
  engine::poison(block, sizeof(list));
  list = block;
}
void* pop_block(void*& list) {
  void* const block = list;
  engine::unpoison(block, sizeof(list));
  std::memcpy(&list, block, sizeof(list));
  engine::poison(block, sizeof(list));
  return block;
}

}  // namespace

void TaskHeap::take_blocks(unsigned group_index, unsigned size, void** blocks) {
  Group& group = *groups_[group_index];
  Batch* batch = group.full[size].take();
  if (batch == nullptr) {
    const std::lock_guard lock(mutex_);
    Node& node = nodes_[group.node];
    if (node.full[size].is_empty()) {
      take_fresh(node, size, blocks);
      return;
    }
    batch = node.full[size].pop();
  }
  std::copy(batch->blocks.begin(), batch->blocks.end(), blocks);
  if (!group.empty.put(batch)) {
    const std::lock_guard lock(mutex_);
    empty_.push(batch);
  }
}

void TaskHeap::return_blocks(unsigned group_index, unsigned size, void* const* blocks) noexcept {
  Group& group = *groups_[group_index];
  Batch* const batch = take_empty(group);
  if (batch == nullptr) return return_loose(group_index, size, blocks, blocks + Batch::kBlocks);
  std::copy(blocks, blocks + Batch::kBlocks, batch->blocks.begin());
  if (!group.full[size].put(batch)) {
    const std::lock_guard lock(mutex_);
    nodes_[group.node].full[size].push(batch);
  }
}

void TaskHeap::return_loose(unsigned group, unsigned size, void* const* begin, void* const* end) noexcept {
  const std::lock_guard lock(mutex_);
  for (void*& loose = nodes_[groups_[group]->node].loose[size]; begin != end; ++begin)
    push_block(loose, *begin);
}

/// The mutex is held. Blocks of ended workers first, then a slab's untouched part.
void TaskHeap::take_fresh(Node& node, unsigned size, void** blocks) {
  const std::size_t bytes = block_bytes(size);
  void*& loose = node.loose[size];
  if (slabs_.size() == slabs_.capacity()) slabs_.reserve(2 * slabs_.size() + 16);  // not in the middle
  for (std::size_t i = 0; i < Batch::kBlocks; ++i) {
    if (loose != nullptr) {
      blocks[i] = pop_block(loose);
      continue;
    }
    if (node.end_fresh - node.next_fresh < static_cast<std::ptrdiff_t>(bytes)) {
      auto* const slab = static_cast<std::byte*>(std::aligned_alloc(kSlabBytes, kSlabBytes));
      if (slab == nullptr) {  // leave nothing behind that is in no list
        while (i != 0) push_block(loose, blocks[--i]);
        throw std::bad_alloc();
      }
      slabs_.push_back(slab);
      madvise(slab, kSlabBytes, MADV_HUGEPAGE);  // a hint; without it everything works as well
      engine::poison(slab, kSlabBytes);
      bytes_.fetch_add(kSlabBytes, std::memory_order_relaxed);
      node.next_fresh = slab;
      node.end_fresh = slab + kSlabBytes;
    }
    blocks[i] = node.next_fresh;
    node.next_fresh += bytes;
  }
}

Batch* TaskHeap::take_empty(Group& group) noexcept {
  if (Batch* const batch = group.empty.take()) return batch;
  const std::lock_guard lock(mutex_);
  if (!empty_.is_empty()) return empty_.pop();
  auto* const batch = new (std::nothrow) Batch;
  if (batch == nullptr) return nullptr;
  batch->older = std::exchange(batches_, batch);
  return batch;
}

}  // namespace rubato::inline v0::native

namespace rubato::inline v0::engine {

using native::Batch;

namespace {
// Half of it stays after a batch came or went: a worker at the edge does not exchange batches at every task.
constexpr std::size_t kSlots = 2 * Batch::kBlocks;
}  // namespace

WorkerHeap::WorkerHeap(native::TaskHeap& heap, unsigned group) : heap_(&heap), group_(group) {
  if (group >= heap.groups()) throw std::invalid_argument("no such core group in this TaskHeap");
  slots_ = std::make_unique<void*[]>(kAhead + kSlots * stacks_.size());
  for (std::size_t size = 0; size < stacks_.size(); ++size) {
    void** const base = slots_.get() + kAhead + kSlots * size;
    // With malloc every call is to take the slow path: nothing is ever kept here.
    stacks_[size] = {.top = base, .base = base, .limit = base + (heap.uses_malloc_ ? 1 : kSlots)};
  }
}

WorkerHeap::~WorkerHeap() {
  for (unsigned size = 0; size < stacks_.size(); ++size) {
    heap_->return_loose(group_, size, stacks_[size].base, stacks_[size].top);
  }
}

void WorkerHeap::refill(unsigned size) {
  Stack& stack = stacks_[size];
  if (heap_->uses_malloc_) {
    const std::size_t bytes = native::TaskHeap::block_bytes(size);
    void* const block = std::aligned_alloc(64, bytes);
    if (block == nullptr) throw std::bad_alloc();
    *stack.top++ = block;
    return;
  }
  heap_->take_blocks(group_, size, stack.base);
  stack.top = stack.base + Batch::kBlocks;
}

void WorkerHeap::give_back(unsigned size) noexcept {
  Stack& stack = stacks_[size];
  if (heap_->uses_malloc_) {
    void* const block = *--stack.top;
    unpoison(block, native::TaskHeap::block_bytes(size));
    std::free(block);
    return;
  }
  // The oldest go: their lines are the least likely to be cached here.
  heap_->return_blocks(group_, size, stack.base);
  std::copy(stack.base + Batch::kBlocks, stack.limit, stack.base);
  stack.top = stack.base + Batch::kBlocks;
}

}  // namespace rubato::inline v0::engine
