// The log that all transactions share: a thread collects a transaction's changes, takes its place in the log
// at the commit, and copies it there. The log is a ring; the thread that fills a segment writes it out: here,
// into a checksum.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "workloads/common/latch.hpp"

namespace rubato::workloads::oltp {

/// A transaction's changes, in words.
class LogRecord {
 public:
  std::uint64_t* take(unsigned words) {
    if (used_ + words > data_.size()) too_long();
    std::uint64_t* at = &data_[used_];
    used_ += words;
    return at;
  }
  [[nodiscard]] const std::uint64_t* data() const { return data_.data(); }
  [[nodiscard]] std::size_t size() const { return used_; }
  void clear() { used_ = 0; }

 private:
  static constexpr unsigned kMaxWords = 4000;
  [[noreturn]] static void too_long();

  std::array<std::uint64_t, kMaxWords> data_{};
  std::size_t used_ = 0;
};

class Log {
 public:
  /// Both are powers of two; a record is at most a segment.
  Log(unsigned types, std::uint64_t ring_words, std::uint64_t segment_words);

  /// Appends a record of transaction type `type` and empties it.
  void append(std::uint64_t type, LogRecord& record);

  /// Walks the records that are still in the ring. @throws WrongResult
  /// @param commits how many transactions of each type have committed
  void verify(const std::vector<std::uint64_t>& commits) const;

 private:
  // A record: its position, its type, the checksum of the one before; the changes; its size in words, and the
  // checksum of all that.
  static constexpr std::uint64_t kOverhead = 5;
  /// A part of the ring. The thread that copies the last of its words writes it out, and frees it for the
  /// next turn.
  struct alignas(64) Segment {
    std::atomic<std::uint64_t> words{0};  ///< that have been copied in this turn
    std::atomic<std::uint64_t> turn{0};
    std::uint64_t check = 0;  ///< of what was written out last
  };
  [[nodiscard]] Segment& segment_of(std::uint64_t position) {
    return segments_[(position & mask_) / segment_words_];
  }
  void copy(std::uint64_t position, const std::uint64_t* from, std::uint64_t words);
  /// The segment of the position before has been waited for.
  void wait_for_room(std::uint64_t position);
  /// `words` from `position` on are copied.
  void copied(std::uint64_t position, std::uint64_t words);
  [[nodiscard]] std::uint64_t check_of_segment(std::uint64_t begin) const;

  alignas(64) Latch latch_;  // of the next three
  std::uint64_t next_ = 0, last_check_ = 0;
  std::vector<std::uint64_t> records_;  // of each type
  alignas(64) std::uint64_t mask_;
  std::uint64_t segment_words_;
  std::vector<std::uint64_t> ring_;
  std::vector<Segment> segments_;
};

}  // namespace rubato::workloads::oltp
