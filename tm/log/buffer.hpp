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
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }

  /// Room for `n` more that the caller fills. The contents are unchanged if there is no memory for it.
  T* extend(std::size_t n) {
    if (__builtin_expect(capacity_ - size_ < n, false)) grow(n);
    T* const room = data_ + size_;
    size_ += n;
    return room;
  }
  void push(T value) { *extend(1) = value; }
  bool has_room() const { return size_ < capacity_; }
  /// Precondition: has_room().
  void push_in_room(T value) { data_[size_++] = value; }
  /// Room for `n` more, without an end of the transaction where there is no memory.
  bool try_reserve(std::size_t n) { return capacity_ - size_ >= n || try_grow(n); }
  void resize_down(std::size_t size) { size_ = size; }
  void pop() { --size_; }

  void clear() {
    if (size_ > peak_) peak_ = size_;
    size_ = 0;
  }
  /// Called now and then: gives memory back of which less than an eighth was needed since the last call.
  void shrink() {
    if (capacity_ > kSmallest && peak_ < capacity_ / 8 && size_ == 0) {
      const std::size_t capacity = capacity_ / 2;
      if (void* const data = std::realloc(data_, capacity * sizeof(T))) {
        data_ = static_cast<T*>(data);
        capacity_ = capacity;
      }
    }
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

  bool try_grow(std::size_t n) {
    std::size_t capacity = capacity_ < kSmallest ? kSmallest : 2 * capacity_;
    while (capacity - size_ < n) capacity *= 2;
    void* const data = std::realloc(data_, capacity * sizeof(T));
    if (data == nullptr) return false;
    data_ = static_cast<T*>(data);
    capacity_ = capacity;
    return true;
  }
  [[gnu::noinline]] void grow(std::size_t n) {
    if (!try_grow(n)) restart_without_memory();
  }

  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0, peak_ = 0;
};

}  // namespace rubato::tm
