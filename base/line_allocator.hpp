// Arrays that begin at the beginning of a cache line of the machine that they are on. So it is no accident
// which elements share a line.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <new>

namespace rubato {

template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}  // NOLINT(google-explicit-constructor): allocators convert
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, kLine); }
  bool operator==(const LineAllocator&) const = default;
};

}  // namespace rubato
