// The log that all transactions share: a thread collects what a transaction changes, and appends it at the
// commit. The log is a ring; who fills a segment writes it out, which here means a checksum.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
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
  [[noreturn]] static void too_long();

  std::array<std::uint64_t, 4096> data_{};
  std::size_t used_ = 0;
};

class Log {
 public:
  /// Both are powers of two.
  Log(unsigned types, std::uint64_t ring_words, std::uint64_t segment_words);

  /// Appends a record of transaction type `type` and empties it.
  void append(std::uint64_t type, LogRecord& record);

  /// Walks the records that are still in the ring. @throws WrongResult
  /// @param commits how many transactions of each type have committed
  void verify(const std::vector<std::uint64_t>& commits) const;
  [[nodiscard]] std::uint64_t words() const { return next_; }

 private:
  // A record: its position, its type, the checksum of the one before; what changed; its size in words, and
  // the checksum of all that.
  static constexpr std::uint64_t kOverhead = 5;
  void put(std::uint64_t word) { ring_[next_++ & mask_] = word; }
  void write_out();

  alignas(64) DataLatch latch_;
  std::uint64_t next_ = 0, last_check_ = 0, written_ = 0;  // words; words that are written out
  std::vector<std::uint64_t> records_;                     // of each type
  std::uint64_t mask_, segment_words_;
  std::vector<std::uint64_t> ring_, segment_checks_;  // a check for each segment of the ring
};

}  // namespace rubato::workloads::oltp
