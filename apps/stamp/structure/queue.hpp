// A first-in, first-out queue in an array that grows. Plain code: in a transaction the compiler's clones of
// it run.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>

namespace rubato::apps::stamp {

/// Queue of values that are copied as they are.
template <class T>
class Queue {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// With room for `slots` at first, a power of two.
  explicit Queue(std::uint64_t slots = 16) : slots_(allocate(slots)), mask_(slots - 1) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue() { ::operator delete(slots_); }

  void push(const T& value) {
    if (pushed_ - popped_ > mask_) grow();
    slots_[pushed_ & mask_] = value;
    ++pushed_;
  }
  /// @returns false if it is empty.
  bool pop(T& value) {
    if (pushed_ == popped_) return false;
    value = slots_[popped_ & mask_];
    ++popped_;
    return true;
  }
  std::uint64_t size() const { return pushed_ - popped_; }

 private:
  /// Not new T[]: its error of a wrong length is not transaction-safe.
  static T* allocate(std::uint64_t slots) { return static_cast<T*>(::operator new(slots * sizeof(T))); }
  void grow() {
    const std::uint64_t mask = 2 * mask_ + 1;
    T* const slots = allocate(mask + 1);
    for (std::uint64_t i = popped_; i != pushed_; ++i) slots[i & mask] = slots_[i & mask_];
    ::operator delete(slots_);
    slots_ = slots;
    mask_ = mask;
  }

  T* slots_;
  std::uint64_t mask_;
  std::uint64_t pushed_ = 0, popped_ = 0;
};

}  // namespace rubato::apps::stamp
