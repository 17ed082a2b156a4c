// Programs that divide their work, written for several libraries: the part that all share. Each library
// implements Programs in a file of its own, in the words of its manual.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace divide {

/// The programs, as one library runs them. Each returns a result that is the same for all libraries.
class Programs {
 public:
  virtual ~Programs() = default;
  /// An unbalanced tree: each node is a task that creates 0 to 3 more, down to `depth`. @returns the nodes.
  virtual std::uint64_t tree(unsigned depth) = 0;
  /// `side` x `side` blocks, each after the one above and the one to the left.
  virtual std::uint64_t wavefront(unsigned side) = 0;
  /// A task a call, down to kFibLeaf; each call waits for two others.
  virtual std::uint64_t fib(unsigned n) = 0;
  /// The same on the stack of the calls, where the library has a join that waits.
  virtual std::uint64_t forks(unsigned n) = 0;
  /// `n` loops over 64 short bodies, one after the other.
  virtual std::uint64_t loops(std::uint64_t n) = 0;
  /// Solutions; a task for each queen of the upper rows.
  virtual std::uint64_t queens(unsigned n) = 0;
  /// Short bodies: one byte each.
  virtual void for_each(std::vector<std::uint8_t>& bytes) = 0;
  /// Sums up short_body() of 0 to n.
  virtual std::uint64_t reduce(std::uint64_t n) = 0;
  virtual void sort(std::vector<std::uint32_t>& numbers) = 0;
};

std::unique_ptr<Programs> serial();
std::unique_ptr<Programs> rubato_native(unsigned workers);
std::unique_ptr<Programs> onetbb(unsigned workers);  // null where the library is missing
std::unique_ptr<Programs> openmp(unsigned workers);  // null where the compiler has none

/// Finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Counts that threads add to without disturbing each other, read when all is done.
class Tally {
 public:
  static void add(std::uint64_t n) { mine() += n; }
  static std::uint64_t take() {
    std::uint64_t sum = 0;
    for (Cell& cell : cells) sum += std::exchange(cell.value, 0);
    return sum;
  }

 private:
  struct alignas(64) Cell {
    std::uint64_t value;
  };
  static std::uint64_t& mine() {
    thread_local std::uint64_t* const cell = &cells.at(used.fetch_add(1)).value;
    return *cell;
  }
  static inline std::array<Cell, 256> cells{};
  static inline std::atomic<unsigned> used{0};
};

// ---- tree ----

constexpr unsigned children_of(std::uint64_t key, unsigned depth) {
  return depth == 0 ? 0 : static_cast<unsigned>(key & 3);
}
constexpr std::uint64_t child_of(std::uint64_t key, unsigned i) {
  return mix(key + (i + 1) * 0x9e3779b97f4a7c15u);
}
inline constexpr std::uint64_t kRoot = 15;

// ---- fib ----

inline constexpr unsigned kFibLeaf = 10;
constexpr std::uint64_t serial_fib(unsigned n) { return n < 2 ? n : serial_fib(n - 1) + serial_fib(n - 2); }

// ---- wavefront ----

/// How many blocks each still waits for, and about 20 ns of work.
class Blocks {
 public:
  explicit Blocks(unsigned side)
      : side_(side), waits_(std::make_unique<std::atomic<std::uint8_t>[]>(std::size_t{side} * side)) {
    for (unsigned y = 0; y < side; ++y)
      for (unsigned x = 0; x < side; ++x) at(x, y).store(static_cast<std::uint8_t>((x != 0) + (y != 0)));
  }
  unsigned side() const { return side_; }
  static void work(unsigned x, unsigned y) {
    std::uint64_t value = (std::uint64_t{x} << 32) + y;
    for (int i = 0; i < 6; ++i) value = mix(value + 1);
    Tally::add(value & 255);
  }
  /// Whether that was the last that it waited for; not so where there is none.
  bool arrive(unsigned x, unsigned y) {
    return x < side_ && y < side_ && at(x, y).fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

 private:
  std::atomic<std::uint8_t>& at(unsigned x, unsigned y) { return waits_[std::size_t{y} * side_ + x]; }
  unsigned side_;
  std::unique_ptr<std::atomic<std::uint8_t>[]> waits_;
};

// ---- queens ----

/// The rows that are taken so far, as bits, in one word: columns and both diagonals of up to 20 squares.
struct Board {
  std::uint32_t columns = 0, left = 0, right = 0;
};
inline constexpr unsigned kQueenTasks = 7;  // rows

template <class Each>
inline void each_square(const Board& b, unsigned n, Each each) {
  for (std::uint32_t free = ~(b.columns | b.left | b.right) & ((1u << n) - 1); free != 0; free &= free - 1) {
    const std::uint32_t bit = free & -free;
    each(Board{b.columns | bit, (b.left | bit) << 1, (b.right | bit) >> 1});
  }
}
inline std::uint64_t serial_queens(const Board& b, unsigned n, unsigned row) {
  if (row == n) return 1;
  std::uint64_t found = 0;
  each_square(b, n, [&](const Board& next) { found += serial_queens(next, n, row + 1); });
  return found;
}

// ---- for_each, reduce ----

inline constexpr unsigned kLoopBodies = 64;
constexpr std::uint64_t short_body(std::uint64_t i) { return (i * 0x9e3779b97f4a7c15u) >> 40; }

}  // namespace divide
