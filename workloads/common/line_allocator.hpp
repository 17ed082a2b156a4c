// Vectors that begin at the beginning of a line, so that which numbers share a line is no accident, and whose
// numbers are written by nobody before the threads that they belong to.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace rubato::workloads {

template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};
  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* numbers, std::size_t) { ::operator delete(numbers, kLine); }
  /// As `new T` does, which leaves plain numbers as they are.
  template <class U>
  void construct(U* number) {
    ::new (static_cast<void*>(number)) U;
  }
  template <class U, class... Arguments>
  void construct(U* number, Arguments&&... arguments) {
    ::new (static_cast<void*>(number)) U(std::forward<Arguments>(arguments)...);
  }
  bool operator==(const LineAllocator&) const = default;
};

template <class T>
using LineVector = std::vector<T, LineAllocator<T>>;

}  // namespace rubato::workloads
