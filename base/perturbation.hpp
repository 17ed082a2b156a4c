// Places where a test may hold a thread up. The engine is built a second time for the differential test
// (tests/differential). There every atomic operation of the protocols, and every perturb() beside them, may
// spin, yield or sleep. Thresholds that small programs never reach become small. In all other builds nothing
// of it is left.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace rubato {

#if defined(RUBATO_PERTURBED)

/// Lets other threads go on here, or not.
void perturb();
/// Whether a threshold is to be small: the same answer at one place during one program.
bool is_threshold_small();
/// Seeds perturb() and is_threshold_small(): from now on their effects follow from `seed`, and from the
/// threads' progress.
void perturb_by(std::uint64_t seed);

template <class T>
class PerturbedAtomic : public std::atomic<T> {
 public:
  using Base = std::atomic<T>;
  using Base::Base;

  T load(std::memory_order order = std::memory_order_seq_cst) const {
    perturb();
    return Base::load(order);
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst) {
    perturb();
    Base::store(value, order);
    perturb();
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst) {
    return around([&] { return Base::exchange(value, order); });
  }
  T fetch_add(T value, std::memory_order order = std::memory_order_seq_cst) {
    return around([&] { return Base::fetch_add(value, order); });
  }
  T fetch_sub(T value, std::memory_order order = std::memory_order_seq_cst) {
    return around([&] { return Base::fetch_sub(value, order); });
  }
  T fetch_or(T value, std::memory_order order = std::memory_order_seq_cst) {
    return around([&] { return Base::fetch_or(value, order); });
  }
  T fetch_and(T value, std::memory_order order = std::memory_order_seq_cst) {
    return around([&] { return Base::fetch_and(value, order); });
  }
  template <class... Order>
  bool compare_exchange_strong(T& expected, T value, Order... order) {
    return around([&] { return Base::compare_exchange_strong(expected, value, order...); });
  }
  template <class... Order>
  bool compare_exchange_weak(T& expected, T value, Order... order) {
    return around([&] { return Base::compare_exchange_weak(expected, value, order...); });
  }

 private:
  template <class Operation>
  static auto around(Operation operation) {
    perturb();
    const auto result = operation();
    perturb();
    return result;
  }
};

/// `value`, or `small` now and then.
template <class T>
[[gnu::always_inline]] inline T threshold(T value, T small) {
  return is_threshold_small() ? small : value;
}

#else

inline void perturb() {}
template <class T>
constexpr T threshold(T value, T) {
  return value;
}

#endif

}  // namespace rubato
