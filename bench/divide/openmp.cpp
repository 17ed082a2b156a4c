// SPDX-License-Identifier: MIT
#include <omp.h>

#include <array>
#include <parallel/algorithm>

#include "bench/divide/programs.hpp"

namespace divide {
namespace {

class OpenMp final : public Programs {
 public:
  explicit OpenMp(unsigned workers) { omp_set_num_threads(static_cast<int>(workers)); }

  std::uint64_t tree(unsigned depth) override {
#pragma omp parallel
#pragma omp single
    node(kRoot, depth);
    return Tally::take();
  }
  std::uint64_t wavefront(unsigned side) override {
    Blocks blocks(side);
#pragma omp parallel
#pragma omp single
    block(blocks, 0, 0);
    return Tally::take();
  }
  std::uint64_t fib(unsigned n) override {
    std::uint64_t result = 0;
#pragma omp parallel
#pragma omp single
    result = call(n);
    return result;
  }
  std::uint64_t forks(unsigned n) override { return fib(n); }
  std::uint64_t loops(std::uint64_t n) override {
    std::array<std::uint8_t, kLoopBodies> bytes{};
    for (std::uint64_t loop = 0; loop < n; ++loop) {
#pragma omp parallel for
      for (unsigned i = 0; i < kLoopBodies; ++i) bytes[i] = static_cast<std::uint8_t>(short_body(i + loop));
    }
    return bytes.back();
  }
  std::uint64_t queens(unsigned n) override {
#pragma omp parallel
#pragma omp single
    place({}, n, 0);
    return Tally::take();
  }
  void for_each(std::vector<std::uint8_t>& bytes) override {
#pragma omp parallel for
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(short_body(i));
  }
  std::uint64_t reduce(std::uint64_t n) override {
    std::uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (std::uint64_t i = 0; i < n; ++i) sum += short_body(i);
    return sum;
  }
  void sort(std::vector<std::uint32_t>& numbers) override {
    __gnu_parallel::sort(numbers.begin(), numbers.end());
  }

 private:
  static void node(std::uint64_t key, unsigned depth) {
    Tally::add(1);
    for (unsigned i = 0; i < children_of(key, depth); ++i) {
      const std::uint64_t child = child_of(key, i);
#pragma omp task firstprivate(child, depth)
      node(child, depth - 1);
    }
  }
  static void block(Blocks& blocks, unsigned x, unsigned y) {
    Blocks::work(x, y);
    if (blocks.arrive(x + 1, y)) {
#pragma omp task shared(blocks) firstprivate(x, y)
      block(blocks, x + 1, y);
    }
    if (blocks.arrive(x, y + 1)) {
#pragma omp task shared(blocks) firstprivate(x, y)
      block(blocks, x, y + 1);
    }
  }
  static std::uint64_t call(unsigned n) {
    if (n <= kFibLeaf) return serial_fib(n);
    std::uint64_t a = 0, b = 0;
#pragma omp task shared(a) firstprivate(n)
    a = call(n - 1);
#pragma omp task shared(b) firstprivate(n)
    b = call(n - 2);
#pragma omp taskwait
    return a + b;
  }
  static void place(const Board& board, unsigned n, unsigned row) {
    if (row == kQueenTasks) return Tally::add(serial_queens(board, n, row));
    each_square(board, n, [&](const Board& next) {
#pragma omp task firstprivate(next, n, row)
      place(next, n, row + 1);
    });
  }
};

}  // namespace

std::unique_ptr<Programs> openmp(unsigned workers) { return std::make_unique<OpenMp>(workers); }

}  // namespace divide
