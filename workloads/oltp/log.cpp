// SPDX-License-Identifier: MIT
#include "workloads/oltp/log.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "workloads/common/workload.hpp"

namespace rubato::workloads::oltp {
namespace {

std::uint64_t mixed(std::uint64_t sum, std::uint64_t word) { return sum * 0x9e3779b97f4a7c15ULL + word; }

}  // namespace

Log::Log(unsigned types, std::uint64_t ring_words, std::uint64_t segment_words)
    : records_(types),
      mask_(ring_words - 1),
      segment_words_(segment_words),
      ring_(ring_words),
      segments_(ring_words / segment_words) {}

void LogRecord::too_long() {
  throw std::length_error("a transaction changes more than fits into its record");
}

void Log::append(std::uint64_t type, LogRecord& record) {
  const std::uint64_t words = record.size() + kOverhead;
  std::uint64_t check = mixed(type, words);
  for (std::size_t i = 0; i < record.size(); ++i) check = mixed(check, record.data()[i]);
  std::uint64_t begin = 0, check_before = 0;
  {
    const std::lock_guard<Latch> guard(latch_);
    begin = next_;
    wait_for_room(begin + words - 1);
    next_ += words;
    check_before = last_check_;
    check = mixed(mixed(check, begin), check_before);
    last_check_ = check;
    ++records_[type];
  }
  const std::array<std::uint64_t, 3> front{begin, type, check_before};
  const std::array<std::uint64_t, 2> back{words, check};
  copy(begin, front.data(), front.size());
  copy(begin + front.size(), record.data(), record.size());
  copy(begin + words - back.size(), back.data(), back.size());
  record.clear();
  const std::uint64_t here = std::min(words, segment_words_ - (begin & (segment_words_ - 1)));
  copied(begin, here);
  if (here < words) copied(begin + here, words - here);
}

void Log::copy(std::uint64_t position, const std::uint64_t* from, std::uint64_t words) {
  const std::uint64_t at = position & mask_, to_end = std::min(words, ring_.size() - at);
  std::memcpy(&ring_[at], from, to_end * sizeof *from);
  std::memcpy(ring_.data(), from + to_end, (words - to_end) * sizeof *from);
}

void Log::wait_for_room(std::uint64_t position) {
  const std::uint64_t turn = position / ring_.size();
  while (segment_of(position).turn.load(std::memory_order_acquire) != turn) std::this_thread::yield();
}

void Log::copied(std::uint64_t position, std::uint64_t words) {
  Segment& segment = segment_of(position);
  if (segment.words.fetch_add(words, std::memory_order_acq_rel) + words != segment_words_) return;
  segment.check = check_of_segment(position & ~(segment_words_ - 1));
  segment.words.store(0, std::memory_order_relaxed);
  segment.turn.fetch_add(1, std::memory_order_release);
}

std::uint64_t Log::check_of_segment(std::uint64_t begin) const {
  std::uint64_t check = 0;
  for (std::uint64_t i = 0; i < segment_words_; ++i) check = mixed(check, ring_[(begin + i) & mask_]);
  return check;
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
    if (words < kOverhead || words > end) throw wrong("has no size");
    const std::uint64_t begin = end - words;
    if (begin < oldest) break;
    std::uint64_t check = mixed(word(begin + 1), words);
    for (std::uint64_t at = begin + 3; at < end - 2; ++at) check = mixed(check, word(at));
    check = mixed(mixed(check, begin), word(begin + 2));
    if (word(begin) != begin) throw wrong("says that it begins elsewhere");
    if (word(end - 1) != check || check != expected) throw wrong("does not agree with its checksum");
    expected = word(begin + 2);
    end = begin;
  }
  // Segments that were written out and are still in the ring.
  for (std::uint64_t end = next_ & ~(segment_words_ - 1); end >= oldest + segment_words_;
       end -= segment_words_) {
    const std::uint64_t begin = end - segment_words_;
    if (segments_[(begin & mask_) / segment_words_].check != check_of_segment(begin))
      throw WrongResult("the log's segment that ends at word " + std::to_string(end) +
                        " was written out otherwise");
  }
}

}  // namespace rubato::workloads::oltp
