// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "bench/divide/programs.hpp"

namespace divide {
namespace {

std::uint64_t nodes_below(std::uint64_t key, unsigned depth) {
  std::uint64_t nodes = 1;
  for (unsigned i = 0; i < children_of(key, depth); ++i) nodes += nodes_below(child_of(key, i), depth - 1);
  return nodes;
}

class Serial final : public Programs {
 public:
  std::uint64_t tree(unsigned depth) override { return nodes_below(kRoot, depth); }
  std::uint64_t wavefront(unsigned side) override {
    Blocks blocks(side);
    for (unsigned y = 0; y < side; ++y) {
      for (unsigned x = 0; x < side; ++x) {
        Blocks::work(x, y);
        blocks.arrive(x + 1, y);
        blocks.arrive(x, y + 1);
      }
    }
    return Tally::take();
  }
  std::uint64_t fib(unsigned n) override { return serial_fib(n); }
  std::uint64_t forks(unsigned n) override { return serial_fib(n); }
  std::uint64_t loops(std::uint64_t n) override {
    std::array<std::uint8_t, kLoopBodies> bytes{};
    for (std::uint64_t loop = 0; loop < n; ++loop)
      for (unsigned i = 0; i < kLoopBodies; ++i) bytes[i] = static_cast<std::uint8_t>(short_body(i + loop));
    return bytes.back();
  }
  std::uint64_t queens(unsigned n) override { return serial_queens({}, n, 0); }
  void for_each(std::vector<std::uint8_t>& bytes) override {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(short_body(i));
  }
  std::uint64_t reduce(std::uint64_t n) override {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < n; ++i) sum += short_body(i);
    return sum;
  }
  void sort(std::vector<std::uint32_t>& numbers) override { std::sort(numbers.begin(), numbers.end()); }
};

}  // namespace

std::unique_ptr<Programs> serial() { return std::make_unique<Serial>(); }

}  // namespace divide
