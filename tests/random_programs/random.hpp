// Random numbers that are a function of a key: the same on every engine, whatever runs when.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace random_tasks {

/// splitmix64's output function.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t key) : state_(mix(key)) {}
  std::uint64_t next() { return mix(state_++); }
  /// 0 to bound - 1.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace random_tasks
