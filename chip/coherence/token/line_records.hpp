// Records of lines at a node of the token protocols, one for each line of which the node knows anything. Open
// addressing with linear probing finds a record; deletion moves later entries back. Records themselves never
// move, so a pointer stays valid while others come and go. Freed records are used again, the last one first.
// So nothing is allocated once the largest number in use at a time has been reached.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

template <class Record>
class LineRecords {
 public:
  std::size_t size() const { return size_; }

  /// The line's record, or null. Valid until the line's erasure.
  Record* find(LineAddr line) const {
    for (std::size_t i = first(line.value);; i = next(i)) {
      const Entry& entry = entries_[i];
      if (entry.line == line.value) return entry.record;
      if (entry.line == kEmpty) return nullptr;
    }
  }
  /// The line's record, a new one if it had none.
  Record& get(LineAddr line) {
    if (Record* const here = find(line)) return *here;
    return insert(line);
  }
  /// The line has a record no longer, if it had one.
  void erase(LineAddr line) {
    std::size_t hole = first(line.value);
    for (; entries_[hole].line != line.value; hole = next(hole))
      if (entries_[hole].line == kEmpty) return;
    free_.push_back(entries_[hole].record);
    for (std::size_t i = next(hole); entries_[i].line != kEmpty; i = next(i)) {
      // Entry i may fill the hole unless its search starts behind the hole.
      if (((i - first(entries_[i].line)) & mask()) < ((i - hole) & mask())) continue;
      entries_[hole] = entries_[i];
      hole = i;
    }
    entries_[hole] = {};
    --size_;
  }
  /// Calls f(LineAddr, const Record&) for each, in an order that must not reach a result.
  template <class F>
  void for_each(F&& f) const {
    for (const Entry& entry : entries_)
      if (entry.line != kEmpty) f(LineAddr{entry.line}, std::as_const(*entry.record));
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // lines are addresses >> 6: none looks so
  static constexpr std::size_t kFirst = 64;
  struct Entry {
    std::uint64_t line = kEmpty;
    Record* record = nullptr;
  };

  std::size_t mask() const { return entries_.size() - 1; }
  /// Neighbours lie apart, and the upper bits, which depend on all of the line's, choose.
  std::size_t first(std::uint64_t line) const {
    return static_cast<std::size_t>(line * 0x9e3779b97f4a7c15ULL >> 32) & mask();
  }
  std::size_t next(std::size_t i) const { return (i + 1) & mask(); }

  [[gnu::noinline]] Record& insert(LineAddr line) {
    RUBATO_DCHECK(line.value != kEmpty);
    if ((size_ + 1) * 2 > entries_.size()) grow();
    Record* record;
    if (free_.empty()) {
      record = &records_.emplace_back();
      free_.reserve(records_.size());
    } else {
      record = free_.back();
      free_.pop_back();
      *record = Record{};
    }
    ++size_;
    place({line.value, record});
    return *record;
  }
  void place(const Entry& entry) {
    std::size_t i = first(entry.line);
    while (entries_[i].line != kEmpty) i = next(i);
    entries_[i] = entry;
  }
  void grow() {
    std::vector<Entry> old(entries_.size() * 2);
    entries_.swap(old);
    for (const Entry& entry : old)
      if (entry.line != kEmpty) place(entry);
  }

  std::size_t size_ = 0;
  std::vector<Entry> entries_{kFirst};
  std::deque<Record> records_;
  std::vector<Record*> free_;
};

}  // namespace rubato::chip
