// A growing array of plain values for logs. Keeps its memory between transactions (T49); never throws.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdlib>
#include <type_traits>

namespace rubato::tm {

/// Leaves the transaction for lack of memory: rolls back and runs it serially (T25). Does not return.
[[noreturn]] void restart_without_memory();

template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  std::size_t size() const { return static_cast<std::size_t>(end_ - data_); }
  bool empty() const { return end_ == data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return end_[-1]; }
  const T& back() const { return end_[-1]; }
  T* begin() { return data_; }
  T* end() { return end_; }

  /// Room for `n` more that the caller fills. The contents are unchanged if there is no memory for it.
  T* extend(std::size_t n) {
    if (__builtin_expect(room() < n, false)) grow(n);
    T* const first = end_;
    end_ += n;
    return first;
  }
  void push(T value) { *extend(1) = value; }
  bool has_room() const { return end_ != limit_; }
  /// Precondition: has_room().
  void push_in_room(T value) { *end_++ = value; }
  /// Room for `n` more, without an end of the transaction where there is no memory.
  bool try_reserve(std::size_t n) { return room() >= n || try_grow(n); }
  void resize_down(std::size_t size) { end_ = data_ + size; }
  void pop() { --end_; }

  void clear() {
    if (empty()) return;
    if (size() > peak_) peak_ = size();
    end_ = data_;
  }
  /// Called now and then: gives memory back of which less than an eighth was needed since the last call.
  void shrink() {
    if (capacity() > kSmallest && peak_ < capacity() / 8 && empty()) try_move(capacity() / 2);
    peak_ = 0;
  }
  /// Moves the contents out, for code that may fill the buffer again meanwhile.
  Buffer take() {
    Buffer taken = *this;
    *this = Buffer{};
    return taken;
  }
  void release() {
    std::free(data_);
    *this = Buffer{};
  }

 private:
  static constexpr std::size_t kSmallest = 64;

  std::size_t capacity() const { return static_cast<std::size_t>(limit_ - data_); }
  std::size_t room() const { return static_cast<std::size_t>(limit_ - end_); }

  bool try_grow(std::size_t n) {
    std::size_t wanted = capacity() < kSmallest ? kSmallest : 2 * capacity();
    while (wanted - size() < n) wanted *= 2;
    return try_move(wanted);
  }
  bool try_move(std::size_t capacity) {
    const std::size_t kept = size();
    void* const data = std::realloc(data_, capacity * sizeof(T));
    if (data == nullptr) return false;
    data_ = static_cast<T*>(data);
    end_ = data_ + kept;
    limit_ = data_ + capacity;
    return true;
  }
  [[gnu::noinline]] void grow(std::size_t n) {
    if (!try_grow(n)) restart_without_memory();
  }

  T* data_ = nullptr;
  T* end_ = nullptr;    ///< of the contents
  T* limit_ = nullptr;  ///< of the memory
  std::size_t peak_ = 0;
};

}  // namespace rubato::tm
