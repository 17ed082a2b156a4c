// Strings in transactions: read by aligned words, which never cross a page, so that reading beyond the end is
// harmless; and private copies of them, for libc.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tm/library/itm.hpp"

namespace rubato::tm::library {

inline constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();

/// The bytes at an address, one after the other, with a barrier for eight.
class Bytes {
 public:
  explicit Bytes(const void* p) : at_(reinterpret_cast<std::uintptr_t>(p)), word_(load()) {}
  std::uint8_t next() {
    const std::uintptr_t offset = at_ % sizeof word_;
    if (offset == 0 && !is_fresh_) word_ = load();
    is_fresh_ = false;
    ++at_;
    return static_cast<std::uint8_t>(word_ >> (8 * offset));
  }

 private:
  std::uint64_t load() const {
    return _ITM_RU8(
        reinterpret_cast<const std::uint64_t*>(at_ / sizeof(std::uint64_t) * sizeof(std::uint64_t)));
  }
  std::uintptr_t at_;
  std::uint64_t word_;
  bool is_fresh_ = true;
};

/// The length of a string, or `most`.
inline std::size_t length_of(const char* s, std::size_t most = kUnbounded) {
  if (most == 0) return 0;
  Bytes bytes(s);
  std::size_t length = 0;
  while (length < most && bytes.next() != 0) ++length;
  return length;
}

/// Private memory until the end of the block. The library gives it back if the transaction is rolled back,
/// for then no destructor runs.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes)
      : data_(bytes <= sizeof small_ ? small_ : static_cast<char*>(_ITM_malloc(bytes))) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (data_ != small_) _ITM_free(data_);
  }
  char* data() { return data_; }
  bool is_there() const { return data_ != nullptr; }

 private:
  char small_[4096];
  char* data_;
};

/// A private copy of a string, or of its first `most` bytes.
class Text {
 public:
  explicit Text(const char* s, std::size_t most = kUnbounded)
      : size_(length_of(s, most)), buffer_(size_ + 1) {
    if (size_ > 0) _ITM_memcpyRtWn(buffer_.data(), s, size_);
    buffer_.data()[size_] = '\0';
  }
  const char* c_str() { return buffer_.data(); }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  Buffer buffer_;
};

}  // namespace rubato::tm::library
