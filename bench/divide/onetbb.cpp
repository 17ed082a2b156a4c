// SPDX-License-Identifier: MIT
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_sort.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <array>
#include <functional>

#include "bench/divide/programs.hpp"

namespace divide {
namespace {

using Range = tbb::blocked_range<std::uint64_t>;

class OneTbb final : public Programs {
 public:
  explicit OneTbb(unsigned workers)
      : limit_(tbb::global_control::max_allowed_parallelism, workers), arena_(static_cast<int>(workers)) {}

  std::uint64_t tree(unsigned depth) override {
    tbb::task_group group;
    inside([&] {
      group.run([&] { node(group, kRoot, depth); });
      group.wait();
    });
    return Tally::take();
  }
  std::uint64_t wavefront(unsigned side) override {
    Blocks blocks(side);
    tbb::task_group group;
    inside([&] {
      group.run([&] { block(group, blocks, 0, 0); });
      group.wait();
    });
    return Tally::take();
  }
  std::uint64_t fib(unsigned n) override {
    std::uint64_t result = 0;
    inside([&] { result = call(n); });
    return result;
  }
  std::uint64_t forks(unsigned n) override { return fib(n); }
  std::uint64_t loops(std::uint64_t n) override {
    std::array<std::uint8_t, kLoopBodies> bytes{};
    inside([&] {
      for (std::uint64_t loop = 0; loop < n; ++loop)
        tbb::parallel_for(0u, kLoopBodies,
                          [&](unsigned i) { bytes[i] = static_cast<std::uint8_t>(short_body(i + loop)); });
    });
    return bytes.back();
  }
  std::uint64_t queens(unsigned n) override {
    tbb::task_group group;
    inside([&] {
      group.run([&] { place(group, {}, n, 0); });
      group.wait();
    });
    return Tally::take();
  }
  void for_each(std::vector<std::uint8_t>& bytes) override {
    inside([&] {
      tbb::parallel_for(Range(0, bytes.size()), [&](const Range& range) {
        for (std::uint64_t i = range.begin(); i != range.end(); ++i)
          bytes[i] = static_cast<std::uint8_t>(short_body(i));
      });
    });
  }
  std::uint64_t reduce(std::uint64_t n) override {
    std::uint64_t result = 0;
    inside([&] {
      result = tbb::parallel_reduce(
          Range(0, n), std::uint64_t{0},
          [](const Range& range, std::uint64_t sum) {
            for (std::uint64_t i = range.begin(); i != range.end(); ++i) sum += short_body(i);
            return sum;
          },
          std::plus<>{});
    });
    return result;
  }
  void sort(std::vector<std::uint32_t>& numbers) override {
    inside([&] { tbb::parallel_sort(numbers.begin(), numbers.end()); });
  }

 private:
  template <class F>
  void inside(F function) {
    arena_.execute(function);
  }

  static void node(tbb::task_group& group, std::uint64_t key, unsigned depth) {
    Tally::add(1);
    for (unsigned i = 0; i < children_of(key, depth); ++i)
      group.run([&group, child = child_of(key, i), depth] { node(group, child, depth - 1); });
  }
  static void block(tbb::task_group& group, Blocks& blocks, unsigned x, unsigned y) {
    Blocks::work(x, y);
    if (blocks.arrive(x + 1, y)) group.run([&group, &blocks, x, y] { block(group, blocks, x + 1, y); });
    if (blocks.arrive(x, y + 1)) group.run([&group, &blocks, x, y] { block(group, blocks, x, y + 1); });
  }
  static std::uint64_t call(unsigned n) {
    if (n <= kFibLeaf) return serial_fib(n);
    std::uint64_t a = 0, b = 0;
    tbb::task_group group;
    group.run([&a, n] { a = call(n - 1); });
    group.run([&b, n] { b = call(n - 2); });
    group.wait();
    return a + b;
  }
  static void place(tbb::task_group& group, const Board& board, unsigned n, unsigned row) {
    if (row == kQueenTasks) return Tally::add(serial_queens(board, n, row));
    each_square(board, n, [&](const Board& next) {
      group.run([&group, next, n, row] { place(group, next, n, row + 1); });
    });
  }

  tbb::global_control limit_;
  tbb::task_arena arena_;
};

}  // namespace

std::unique_ptr<Programs> onetbb(unsigned workers) { return std::make_unique<OneTbb>(workers); }

}  // namespace divide
