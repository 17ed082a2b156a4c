// Allocators for vectors that begin at the beginning of a line. NumberAllocator leaves numbers unwritten, so
// that the threads that own them write them first.
// SPDX-License-Identifier: MIT
#pragma once

#include <new>
#include <utility>
#include <vector>

#include "base/line_allocator.hpp"

namespace rubato::workloads {

template <class T>
struct NumberAllocator : LineAllocator<T> {
  NumberAllocator() = default;
  template <class U>
  NumberAllocator(const NumberAllocator<U>&) {}
  /// As `new T` does, which leaves plain numbers as they are.
  template <class U>
  void construct(U* number) {
    ::new (static_cast<void*>(number)) U;
  }
  template <class U, class... Arguments>
  void construct(U* number, Arguments&&... arguments) {
    ::new (static_cast<void*>(number)) U(std::forward<Arguments>(arguments)...);
  }
};

template <class T>
using LineVector = std::vector<T, NumberAllocator<T>>;

}  // namespace rubato::workloads
