// Old values of memory that was written in place, restored in reverse order.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>

#include "tm/fault.hpp"
#include "tm/log/buffer.hpp"
#include "tm/log/word.hpp"

namespace rubato::tm {

/// A range of memory that is not restored.
struct Range {
  std::uintptr_t first, last;  ///< [first, last)
};

class UndoLog {
 public:
  std::size_t size() const { return words_.size(); }
  /// How many values are kept: counted from the last one on, for a profile.
  std::size_t count() {
    std::size_t count = 0;
    for (std::size_t end = words_.size(); end > 0; ++count) end -= 2 + words_in(words_[end - 2]);
    return count;
  }

  void save(const void* address, std::size_t bytes) {
    const std::size_t data = words_in(bytes);
    std::uintptr_t* const entry = words_.extend(data + 2);
    std::memcpy(entry, address, bytes);
    entry[data] = bytes;
    entry[data + 1] = reinterpret_cast<std::uintptr_t>(address);
  }

  /// Writes to this range so far stay in a rollback (_ITM_dropReferences).
  void drop(const void* address, std::size_t bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(address);
    drops_.push({{first, first + bytes}, words_.size()});
  }

  /// Restores all words saved since the log had `size` words, except those inside `dead`, the stack below the
  /// checkpoint (T26).
  void restore(std::size_t size, Range dead) {
    std::size_t end = words_.size();
    while (end > size) {
      const std::uintptr_t address = words_[end - 1];
      const std::size_t bytes = words_[end - 2];
      end -= 2 + words_in(bytes);
      const char* const old = reinterpret_cast<const char*>(&words_[end]);
      if (drops_.empty() && (address >= dead.last || address + bytes <= dead.first)) {
        overwrite(reinterpret_cast<void*>(address), old, bytes);
      } else {
        for (std::size_t i = 0; i < bytes; ++i) {
          if (!is_excluded(address + i, end, dead))
            overwrite(reinterpret_cast<void*>(address + i), old + i, 1);
        }
      }
    }
    if (has_fault(Fault::undo_in_order)) restore_in_order(size);
    words_.resize_down(size);
    while (!drops_.empty() && drops_.back().position > size) drops_.pop();
  }

  void clear() {
    words_.clear();
    drops_.clear();
  }
  void shrink() { words_.shrink(); }

 private:
  static std::size_t words_in(std::size_t bytes) {
    return (bytes + sizeof(std::uintptr_t) - 1) / sizeof(std::uintptr_t);
  }

  /// For the fault: once more, the wrong way round. The entries' beginnings are found from their ends.
  void restore_in_order(std::size_t size) {
    Buffer<std::size_t> beginnings;
    for (std::size_t end = words_.size(); end > size; end = beginnings.back()) {
      beginnings.push(end - 2 - words_in(words_[end - 2]));
    }
    while (!beginnings.empty()) {
      const std::size_t beginning = beginnings.back();
      beginnings.pop();
      const std::size_t end = beginnings.empty() ? words_.size() : beginnings.back();
      std::memcpy(reinterpret_cast<void*>(words_[end - 1]), &words_[beginning], words_[end - 2]);
    }
    beginnings.release();
  }

  struct Drop {
    Range range;
    std::size_t position;  ///< words in the log when it was dropped: only what is before is affected
  };

  bool is_excluded(std::uintptr_t byte, std::size_t position, Range dead) {
    if (byte >= dead.first && byte < dead.last) return true;
    for (const Drop& drop : drops_) {
      if (drop.position > position && byte >= drop.range.first && byte < drop.range.last) return true;
    }
    return false;
  }

  Buffer<std::uintptr_t> words_;  ///< entries of data words, number of bytes, address
  Buffer<Drop> drops_;
};

}  // namespace rubato::tm
