// SPDX-License-Identifier: MIT
#include "native/order/packed_tasks.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>
#include <utility>

namespace rubato::inline v0::native {

PackedMemory::~PackedMemory() {
  for (PackedChunk* const slab : slabs_) std::free(slab);
}

PackedChunks::~PackedChunks() {
  const std::lock_guard lock(memory_.mutex_);
  if (rest_.next != rest_.end) {
    rest_.next->size = static_cast<std::uint64_t>(rest_.end - rest_.next);
    rest_.next->next = std::exchange(memory_.rests_, rest_.next);
  }
  while (free_ != nullptr) {
    PackedChunk* const chunk = std::exchange(free_, free_->next);
    chunk->next = std::exchange(memory_.free_, chunk);
  }
}

PackedChunk* PackedChunks::take() {
  if (free_ != nullptr) {
    --free_count_;
    return std::exchange(free_, free_->next);
  }
  {
    const std::lock_guard lock(memory_.mutex_);
    if (PackedChunk* const chunk = memory_.free_) {
      memory_.free_ = chunk->next;
      return chunk;
    }
  }
  if (rest_.next == rest_.end && !take_slab()) return nullptr;
  return rest_.next++;
}

bool PackedChunks::take_slab() {
  const std::lock_guard lock(memory_.mutex_);
  if (PackedChunk* const rest = memory_.rests_) {
    memory_.rests_ = rest->next;
    rest_ = {rest, rest + rest->size};
    return true;
  }
  try {
    memory_.slabs_.push_back(nullptr);
  } catch (const std::bad_alloc&) {
    return false;
  }
  void* const slab = std::aligned_alloc(kSlabBytes, kSlabBytes);
  if (slab == nullptr) {
    memory_.slabs_.pop_back();
    return false;
  }
  madvise(slab, kSlabBytes, MADV_HUGEPAGE);  // a hint; without it everything works as well
  rest_.next = static_cast<PackedChunk*>(slab);
  rest_.end = rest_.next + kSlabBytes / sizeof(PackedChunk);
  memory_.slabs_.back() = rest_.next;
  return true;
}

void PackedChunks::give(PackedChunk* chunk) {
  if (free_count_ < kKept) {
    ++free_count_;
    chunk->next = std::exchange(free_, chunk);
    return;
  }
  const std::lock_guard lock(memory_.mutex_);
  chunk->next = memory_.free_;
  memory_.free_ = chunk;
}

bool PackedTasks::add_chunk(const Task* task, std::uint64_t at, PackedChunks& chunks) {
  PackedChunk* const chunk = chunks.take();
  if (chunk == nullptr) return false;
  const engine::TaskCode& code = *task->code;
  chunk->next = nullptr;
  chunk->code = &code;
  chunk->function = task->words[0];
  chunk->at = at;
  chunk->handle = task->handle;
  chunk->size = 0;
  // Once varied, for good: tasks of two kinds in turns would take a chunk each.
  chunk->is_varied = (task->handle & engine::handle::kResource) != 0 ||
                     (last_ != nullptr && (last_->is_varied || !suits(task->handle)));
  chunk->from = code.is_function_pointer ? 1 : 0;
  chunk->length = (chunk->is_varied ? 1u : 0u) + code.words - chunk->from;
  if (last_ == nullptr) {
    first_ = chunk;
  } else {
    last_->next = chunk;
  }
  last_ = chunk;
  written_ = 0;
  return true;
}

void PackedTasks::drop_chunk(PackedChunks& chunks) {
  PackedChunk* const next = first_->next;
  chunks.give(first_);
  first_ = next;
  read_ = 0;
  if (next == nullptr) *this = {};
}

}  // namespace rubato::inline v0::native
