// SPDX-License-Identifier: MIT
#include "workloads/oltp/log.hpp"

#include <bit>
#include <mutex>
#include <stdexcept>
#include <string>

#include "workloads/common/workload.hpp"

namespace rubato::workloads::oltp {
namespace {

std::uint64_t mixed(std::uint64_t sum, std::uint64_t word) {
  return (std::rotl(sum, 9) ^ word) * 0x9e3779b97f4a7c15ULL;
}

}  // namespace

Log::Log(unsigned types, std::uint64_t ring_words, std::uint64_t segment_words)
    : records_(types),
      mask_(ring_words - 1),
      segment_words_(segment_words),
      ring_(ring_words),
      segment_checks_(ring_words / segment_words) {}

void LogRecord::too_long() {
  throw std::length_error("a transaction changes more than fits into its record");
}

void Log::append(std::uint64_t type, LogRecord& record) {
  const std::lock_guard<DataLatch> guard(latch_);
  std::uint64_t check = mixed(mixed(mixed(0, next_), type), last_check_);
  put(next_);
  put(type);
  put(last_check_);
  for (std::size_t i = 0; i < record.size(); ++i) {
    check = mixed(check, record.data()[i]);
    put(record.data()[i]);
  }
  put(record.size());
  last_check_ = mixed(check, record.size());
  put(last_check_);
  ++records_[type];
  record.clear();
  if (next_ - written_ >= segment_words_) write_out();
}

void Log::write_out() {
  for (; next_ - written_ >= segment_words_; written_ += segment_words_) {
    std::uint64_t check = 0;
    for (std::uint64_t i = 0; i < segment_words_; ++i) check = mixed(check, ring_[(written_ + i) & mask_]);
    segment_checks_[(written_ & mask_) / segment_words_] = check;
  }
}

void Log::verify(const std::vector<std::uint64_t>& commits) const {
  for (std::size_t type = 0; type < records_.size(); ++type) {
    if (records_[type] != commits[type])
      throw WrongResult("the log has " + std::to_string(records_[type]) + " records of transaction type " +
                        std::to_string(type) + ", but " + std::to_string(commits[type]) + " have committed");
  }
  // Backwards from the last one, as far as whole records are in the ring.
  const std::uint64_t oldest = next_ > ring_.size() ? next_ - ring_.size() : 0;
  const auto word = [&](std::uint64_t position) { return ring_[position & mask_]; };
  std::uint64_t expected = last_check_;
  for (std::uint64_t end = next_; end > oldest + kOverhead;) {
    const std::uint64_t words = word(end - 2);
    const auto wrong = [&](const char* what) {
      return WrongResult("the log's record that ends at word " + std::to_string(end) + " " + what);
    };
    if (words + kOverhead > end) throw wrong("has no size");
    const std::uint64_t begin = end - words - kOverhead;
    if (begin < oldest) break;
    std::uint64_t check = 0;
    for (std::uint64_t at = begin; at < end - 1; ++at) check = mixed(check, word(at));
    if (word(begin) != begin) throw wrong("says that it begins elsewhere");
    if (word(end - 1) != check || check != expected) throw wrong("does not agree with its checksum");
    expected = word(begin + 2);
    end = begin;
  }
  // A segment that was written out and is whole in the ring.
  for (std::uint64_t at = written_; at >= oldest + segment_words_; at -= segment_words_) {
    std::uint64_t check = 0;
    for (std::uint64_t i = at - segment_words_; i < at; ++i) check = mixed(check, word(i));
    if (segment_checks_[((at - segment_words_) & mask_) / segment_words_] != check)
      throw WrongResult("the log's segment that ends at word " + std::to_string(at) +
                        " was written out otherwise");
  }
}

}  // namespace rubato::workloads::oltp
