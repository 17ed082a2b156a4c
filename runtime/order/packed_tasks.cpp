// SPDX-License-Identifier: MIT
#include "runtime/order/packed_tasks.hpp"

#include <sys/mman.h>

#include <cstdlib>

namespace rubato::runtime {

PackedChunks::~PackedChunks() {
  for (PackedChunk* const slab : slabs_) std::free(slab);
}

PackedChunk* PackedChunks::take() {
  const std::lock_guard lock(mutex_);
  if (free_ == nullptr) {
    void* const memory = std::aligned_alloc(kSlabBytes, kSlabBytes);
    if (memory == nullptr) return nullptr;
    madvise(memory, kSlabBytes, MADV_HUGEPAGE);  // a hint; without it everything works as well
    auto* const chunks = static_cast<PackedChunk*>(memory);
    slabs_.push_back(chunks);
    for (std::size_t i = kSlabBytes / sizeof(PackedChunk); i-- != 0;) {
      chunks[i].next = free_;
      free_ = &chunks[i];
    }
  }
  PackedChunk* const chunk = free_;
  free_ = chunk->next;
  return chunk;
}

void PackedChunks::give(PackedChunk* chunk) {
  const std::lock_guard lock(mutex_);
  chunk->next = free_;
  free_ = chunk;
}

bool PackedTasks::add_chunk(const Task* task, std::uint64_t at, PackedChunks& chunks) {
  PackedChunk* const chunk = chunks.take();
  if (chunk == nullptr) return false;
  chunk->next = nullptr;
  chunk->code = task->code;
  chunk->function = task->words[0];
  chunk->at = at;
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

}  // namespace rubato::runtime
