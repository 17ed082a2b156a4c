// An array whose elements do not straddle cache lines: elements of 64, 32, 16 ... bytes from a line's start
// on.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace rubato::apps {

template <class T>
class LineArray {
  static constexpr std::size_t kLineBytes = 64;
  static_assert(kLineBytes % sizeof(T) == 0, "a whole number of elements fills a line");
  struct alignas(kLineBytes) Line {
    T elements[kLineBytes / sizeof(T)];
  };

 public:
  /// Elements as T's default makes them; `size` may be 0.
  explicit LineArray(std::size_t size) : lines_(size / kPerLine + 1) {}
  T* data() { return lines_.front().elements; }

 private:
  static constexpr std::size_t kPerLine = kLineBytes / sizeof(T);
  std::vector<Line> lines_;
};

}  // namespace rubato::apps
