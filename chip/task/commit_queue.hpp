// The tile's commit queue: where finished speculative tasks keep their state until they commit (C9, C17).
// Only its size is modelled: non-speculative tasks never take an entry (C10), and nothing speculates yet.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::chip {

class CommitQueue {
 public:
  explicit CommitQueue(std::uint32_t capacity) : capacity_(capacity) {}
  std::uint32_t capacity() const { return capacity_; }
  std::uint32_t size() const { return size_; }
  bool full() const { return size_ == capacity_; }

 private:
  std::uint32_t capacity_;
  std::uint32_t size_ = 0;
};

}  // namespace rubato::chip
