// Storage of task records: chunks that never move, and a free list. Grows to the largest number of tasks
// alive at once, spilled ones included, and allocates nothing after that.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/check.hpp"
#include "chip/task/task_record.hpp"

namespace rubato::chip {

class TaskPool {
 public:
  /// A record in state in_flight whose other members are the caller's to set.
  Task* acquire() {
    if (free_ == nullptr) grow();
    Task* task = free_;
    free_ = task->next;
    task->next = nullptr;
    task->state = TaskState::in_flight;
    task->order = 0;
    task->is_refill = task->is_discarded = task->is_suspended = task->is_promoted = task->is_read_back =
        task->is_throttled = false;
    task->uncommitted_parent = nullptr;
    task->creator = nullptr;
    task->speculates_from = 0;
    task->lost = 0;
    task->attempt = nullptr;
    ++in_use_;
    return task;
  }
  void release(Task* task) {
    RUBATO_CHECK(task->state != TaskState::free && task->followers.empty(), "a task record freed too early");
    task->state = TaskState::free;
    task->next = free_;
    free_ = task;
    --in_use_;
  }
  std::size_t in_use() const { return in_use_; }
  std::size_t capacity() const { return chunks_.size() * kChunk; }
  /// Every record in use, refill tasks included, in no particular but a repeatable order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& chunk : chunks_)
      for (std::size_t i = 0; i < kChunk; ++i)
        if (chunk[i].state != TaskState::free) visit(chunk[i]);
  }

 private:
  static constexpr std::size_t kChunk = 256;
  void grow() {
    chunks_.push_back(std::make_unique<Task[]>(kChunk));
    for (std::size_t i = kChunk; i-- > 0;) {
      chunks_.back()[i].next = free_;
      free_ = &chunks_.back()[i];
    }
  }
  std::vector<std::unique_ptr<Task[]>> chunks_;
  Task* free_ = nullptr;
  std::size_t in_use_ = 0;
};

}  // namespace rubato::chip
