// A core's outstanding accesses: the load buffer and the store buffer. An access that missed its L1 occupies
// an entry until its data is there; the next one that finds no entry waits for the earliest to leave.
// Entries of accesses that messages have yet to bring (deferred_accesses.hpp) are held, until a time
// not known yet. Invariant: entries_ holds at most capacity entries, and one more for the second line of an
// access; their order is of no meaning (16 entries: a scan is cheap).
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class AccessBuffer {
 public:
  struct Entry {
    LineAddr line;
    Addr word;  ///< 8-byte word the access touches: a later load of it is forwarded from the store buffer
    Cycle done;
    AccessParts parts;
  };

  explicit AccessBuffer(std::uint32_t capacity) : capacity_(capacity) { entries_.reserve(capacity); }

  /// The entry that an access issued at `at` must wait for because the buffer is full, or null.
  /// Precondition: !is_held_up(at).
  const Entry* full(Cycle at) {
    if (entries_.size() + held_ < capacity_) return nullptr;
    release(at);
    if (entries_.size() + held_ < capacity_) return nullptr;
    return &*std::min_element(entries_.begin(), entries_.end(),
                              [](const Entry& a, const Entry& b) { return a.done < b.done; });
  }

  /// Every entry is held.
  bool is_held_up(Cycle at) {
    if (held_ < capacity_) return false;
    release(at);
    return entries_.empty();
  }
  void hold() { ++held_; }
  void unhold() { --held_; }

  /// Precondition: !full(at), or it is the second line of the access that was added last.
  void add(Cycle at, const Entry& entry) {
    release(at);
    entries_.push_back(entry);
    latest_ = later(latest_, entry.done);
  }

  /// The latest outstanding access that brings `line`, or null.
  const Entry* find(LineAddr line) const {
    const Entry* result = nullptr;
    for (const Entry& entry : entries_)
      if (entry.line == line && (result == nullptr || entry.done > result->done)) result = &entry;
    return result;
  }

  /// Cycle at which every access so far is done.
  Cycle latest() const { return latest_; }
  /// The entry that is done last, or null if none is outstanding at `at`.
  const Entry* last(Cycle at) {
    release(at);
    const Entry* result = nullptr;
    for (const Entry& entry : entries_)
      if (result == nullptr || entry.done > result->done) result = &entry;
    return result;
  }

 private:
  void release(Cycle at) {
    std::erase_if(entries_, [at](const Entry& entry) { return entry.done <= at; });
  }

  std::vector<Entry> entries_;
  std::uint32_t capacity_, held_ = 0;
  Cycle latest_{};
};

}  // namespace rubato::chip
