// Memory that a transaction allocated or freed. Allocations are made at once and taken back on rollback;
// frees are made after commit and quiescence, by the function that fits the allocation (T25).
// SPDX-License-Identifier: MIT
#pragma once

#include <malloc.h>

#include <cstddef>
#include <cstdint>

#include "tm/log/buffer.hpp"

namespace rubato::tm {

enum class Release : std::uint8_t {
  free_,
  delete_,
  delete_nothrow,
  delete_sized,
  delete_sized_nothrow,
  delete_array,
  delete_array_nothrow,
};

/// Gives one piece of memory back. @param bytes  for the sized forms only
void release_memory(void* pointer, Release how, std::size_t bytes);

class Allocations {
 public:
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  /// Before an allocation, so that recording it cannot fail.
  void reserve() { entries_.extend(1), entries_.pop(); }
  void allocated(void* pointer, Release how) { entries_.push({pointer, 0, how, Kind::allocation}); }
  void freed(void* pointer, Release how, std::size_t bytes = 0) {
    entries_.push({pointer, bytes, how, Kind::free});
  }

  void roll_back_to(std::size_t size) {
    while (entries_.size() > size) {
      const Entry entry = entries_.back();
      entries_.pop();
      if (entry.kind != Kind::free) release_memory(entry.pointer, entry.how, 0);
    }
  }
  /// The same, but what was allocated stays until the end of the whole transaction, however that ends.
  void roll_back_late(std::size_t size) {
    std::size_t kept = size;
    for (std::size_t i = size; i < entries_.size(); ++i) {
      if (entries_[i].kind == Kind::free) continue;
      entries_[kept] = entries_[i];
      entries_[kept++].kind = Kind::rolled_back;
    }
    entries_.resize_down(kept);
  }
  void commit() {
    for (const Entry& entry : entries_) {
      if (entry.kind != Kind::allocation) release_memory(entry.pointer, entry.how, entry.bytes);
    }
    entries_.clear();
  }

  /// Moves what `ended` freed to the end of this list, and adds its bytes. False, and nothing is moved, if
  /// there is no memory.
  bool take_frees(Allocations& ended, std::size_t& bytes) {
    if (!entries_.try_reserve(ended.size())) return false;
    for (const Entry& entry : ended.entries_) {
      if (entry.kind == Kind::allocation) continue;
      entries_.push(entry);
      bytes += sizeof entry + (entry.bytes != 0              ? entry.bytes
                               : entry.how == Release::free_ ? ::malloc_usable_size(entry.pointer)
                                                             : kUnknownBytes);
    }
    ended.entries_.clear();
    return true;
  }

  /// Moves the list out, for frees that have to wait for actions; destroy() it afterwards.
  Allocations take() {
    Allocations taken;
    taken.entries_ = entries_.take();
    return taken;
  }
  void destroy() { entries_.release(); }

 private:
  /// The size assumed for an `operator delete` without a size: only the program's own operator knows it.
  static constexpr std::size_t kUnknownBytes = 256;
  enum class Kind : std::uint8_t { allocation, free, rolled_back };
  struct Entry {
    void* pointer;
    std::size_t bytes;
    Release how;
    Kind kind;
  };
  Buffer<Entry> entries_;
};

}  // namespace rubato::tm
