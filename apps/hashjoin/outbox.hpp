// Records of one table on their way from a scanner to one partition, in batches of one size.
//
// A batch is the scanner's while it is filled, then a task's, and when that is done the scanner's again. A
// scanner that is far ahead of the partition should wait: it would fill ever more batches, a page fault for
// every new page, and their records would have left the cache before anybody looks at them.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

namespace rubato::apps {

template <class Record>
struct Batch {
  explicit Batch(std::size_t capacity) : records(std::make_unique_for_overwrite<Record[]>(capacity)) {}
  /// By the task, which touches it no more.
  void give_back() { is_with_task.store(false, std::memory_order_release); }

  std::unique_ptr<Record[]> records;  // of these, `count`
  std::size_t count = 0;
  std::atomic<bool> is_with_task{false};
};

/// The batches that one scanner fills for one partition.
template <class Record>
class Outbox {
 public:
  /// `records_ahead`: as many may be on their way; two batches always may be.
  Outbox(std::size_t batch_capacity, std::size_t records_ahead)
      : capacity_(batch_capacity), batches_ahead_(std::max<std::size_t>(records_ahead / batch_capacity, 2)) {}

  Outbox(Outbox&&) noexcept = default;  // in a vector

  /// True when the batch is full.
  bool push(const Record& record) {
    if (filling_ == nullptr) take();
    filling_->records[filling_->count++] = record;
    return filling_->count == capacity_;
  }
  Batch<Record>* filling() const { return filling_; }
  /// Hands the batch to a task.
  Batch<Record>* hand_over() {
    filling_->is_with_task.store(true, std::memory_order_relaxed);
    return std::exchange(filling_, nullptr);
  }
  /// Whether the oldest of `batches_ahead_` or more has not come back.
  bool is_far_ahead() const {
    const std::size_t handed_over = batches_.size() - (filling_ != nullptr ? 1 : 0);
    return handed_over >= batches_ahead_ && batches_.front()->is_with_task.load(std::memory_order_acquire);
  }

 private:
  /// The batch handed over longest ago is the first to come back: a partition's tasks run one after another.
  void take() {
    if (batches_.empty() || batches_.front()->is_with_task.load(std::memory_order_acquire)) {
      batches_.push_front(std::make_unique<Batch<Record>>(capacity_));
    }
    batches_.push_back(std::move(batches_.front()));
    batches_.pop_front();
    filling_ = batches_.back().get();
    filling_->count = 0;
  }

  std::size_t capacity_, batches_ahead_;
  std::deque<std::unique_ptr<Batch<Record>>> batches_;  // the one that is filled last, the others by age
  Batch<Record>* filling_ = nullptr;
};

}  // namespace rubato::apps
