// Records of one table on their way from a scanner to one partition, in batches of one size.
//
// A batch is the scanner's while it is filled, then a task's, and when that is done the scanner's again. A
// scanner that is far ahead of the partition should wait. Otherwise it would fill ever more batches, with a
// page fault for every new page. Their records would have left the cache before a task reads them.
//
// Small batches must not cost more than the lines of their records. They are slices of a chunk. A task's
// arguments say all it needs, and it only counts that its slice has come back. The scanner reads the count
// when it needs another chunk.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace rubato::apps {

/// How many batches of a chunk have come back. The tasks that count them run one after another.
class alignas(64) Returns {
 public:
  /// By a batch's task, which touches it no more.
  void add() { count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  std::size_t count() const { return count_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::size_t> count_{0};
};

/// Arguments of a task.
template <class Record>
struct Batch {
  const Record* records;
  std::size_t count;
  Returns* returns;
};

/// The batches that one scanner fills for one partition.
template <class Record>
class Outbox {
 public:
  /// Small batches share a chunk of about so many records, but not more batches than that. With a quarter of
  /// both a join by 128 records a task takes 1.1 times as long.
  static constexpr std::size_t kChunkRecords = 8192, kChunkBatches = 64;

  /// `records_ahead`: as many may be on their way; two chunks always may be.
  Outbox(std::size_t batch_capacity, std::size_t records_ahead)
      : capacity_(batch_capacity),
        chunk_capacity_(capacity_ * std::clamp<std::size_t>(kChunkRecords / capacity_, 1, kChunkBatches)),
        chunks_ahead_(std::max<std::size_t>(records_ahead / chunk_capacity_, 2)) {}

  Outbox(Outbox&&) noexcept = default;  // in a vector

  /// True when the batch is full: it is to be handed over then.
  bool push(const Record& record) {
    if (next_ == end_) begin_batch();
    *next_++ = record;
    return next_ == end_;
  }
  /// Records that have not been handed over.
  std::size_t filled() const { return static_cast<std::size_t>(next_ - begin_); }
  /// Hands them to a task. There are some.
  Batch<Record> hand_over() {
    Chunk& chunk = chunks_.back();
    ++chunk.hand_overs;
    const Batch<Record> batch{begin_, filled(), chunk.returns.get()};
    begin_ = next_ = end_;
    return batch;
  }
  /// Whether the oldest of `chunks_ahead_` full chunks or more has not come back.
  bool is_far_ahead() const {
    const std::size_t full = chunks_.size() - (is_last_full() ? 0 : 1);
    return full >= chunks_ahead_ && !chunks_.front().is_back();
  }

 private:
  struct Chunk {
    std::unique_ptr<Record[]> records;
    std::unique_ptr<Returns> returns;
    std::size_t hand_overs = 0;  // of its batches, since it was made

    bool is_back() const { return returns->count() == hand_overs; }
  };

  bool is_last_full() const {
    return chunks_.empty() || (end_ == chunks_.back().records.get() + chunk_capacity_ && next_ == end_);
  }
  void begin_batch() {
    if (is_last_full()) {
      take_chunk();
      end_ = chunks_.back().records.get();
    }
    begin_ = next_ = end_;
    end_ += capacity_;
  }
  /// Takes the chunk that was handed over last among those that have come back, since it may still be in a
  /// cache. If there is none, a new one.
  void take_chunk() {
    while (!chunks_.empty() && chunks_.front().is_back()) {
      free_.push_back(std::move(chunks_.front()));
      chunks_.pop_front();
    }
    if (free_.empty()) {
      chunks_.push_back(
          {std::make_unique_for_overwrite<Record[]>(chunk_capacity_), std::make_unique<Returns>()});
    } else {
      chunks_.push_back(std::move(free_.back()));
      free_.pop_back();
    }
  }

  std::size_t capacity_, chunk_capacity_, chunks_ahead_;
  std::deque<Chunk> chunks_;  // the one that is filled last, the others by age
  std::vector<Chunk> free_;   // come back, the one handed over last behind
  // The batch that is filled: its begin, its next record, and its end. If there is none, all three are the
  // end of the last one.
  Record* begin_ = nullptr;
  Record* next_ = nullptr;
  Record* end_ = nullptr;
};

}  // namespace rubato::apps
