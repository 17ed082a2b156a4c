// SPDX-License-Identifier: MIT
#include <array>
#include <functional>

#include "bench/divide/programs.hpp"
#include "rubato/algorithms.hpp"
#include "rubato/fork_join.hpp"
#include "rubato/rubato.hpp"

namespace divide {
namespace {

using rubato::create, rubato::nonspec, rubato::TaskGroup;

void node(std::uint64_t key, unsigned depth) {
  Tally::add(1);
  for (unsigned i = 0; i < children_of(key, depth); ++i)
    create<nonspec>(node, {}, child_of(key, i), depth - 1);
}

void block(Blocks* blocks, unsigned x, unsigned y) {
  Blocks::work(x, y);
  if (blocks->arrive(x + 1, y)) create<nonspec>(block, {}, blocks, x + 1, y);
  if (blocks->arrive(x, y + 1)) create<nonspec>(block, {}, blocks, x, y + 1);
}

struct Call {
  TaskGroup group;
  std::uint64_t a = 0, b = 0;
  std::uint64_t* result = nullptr;
};
void add_up(Call* call) {
  *call->result = call->a + call->b;
  delete call;
}
/// @param group  the group of this task, and of the task that completes its result
void call_fib(unsigned n, std::uint64_t* result, TaskGroup* group) {
  if (n <= kFibLeaf) {
    *result = serial_fib(n);
    return;
  }
  Call* const call = new Call{{}, 0, 0, result};
  create<nonspec>(call_fib, {.group = &call->group}, n - 1, &call->a, &call->group);
  create<nonspec>(call_fib, {.group = &call->group}, n - 2, &call->b, &call->group);
  create<nonspec>(add_up, {.group = group, .after = &call->group}, call);
}

void place(std::uint32_t columns, std::uint32_t left, std::uint32_t right, unsigned n, unsigned row) {
  const Board board{columns, left, right};
  if (row == kQueenTasks) return Tally::add(serial_queens(board, n, row));
  each_square(board, n, [&](const Board& next) {
    create<nonspec>(place, {}, next.columns, next.left, next.right, n, row + 1);
  });
}

class Native final : public Programs {
 public:
  explicit Native(unsigned workers) {
    rubato::native::Options options = rubato::native::options();
    options.workers = workers;
    options.oversubscribe = true;
    rubato::native::configure(options);
  }
  std::uint64_t tree(unsigned depth) override {
    create<nonspec>(node, {}, kRoot, depth);
    rubato::run();
    return Tally::take();
  }
  std::uint64_t wavefront(unsigned side) override {
    Blocks blocks(side);
    create<nonspec>(block, {}, &blocks, 0u, 0u);
    rubato::run();
    return Tally::take();
  }
  std::uint64_t fib(unsigned n) override {
    std::uint64_t result = 0;
    TaskGroup whole;
    create<nonspec>(call_fib, {.group = &whole}, n, &result, &whole);
    rubato::run();
    return result;
  }
  std::uint64_t forks(unsigned n) override {
    if (n <= kFibLeaf) return serial_fib(n);
    std::uint64_t a = 0, b = 0;
    rubato::fork_join([&] { a = forks(n - 1); }, [&] { b = forks(n - 2); });
    return a + b;
  }
  std::uint64_t loops(std::uint64_t n) override {
    std::array<std::uint8_t, kLoopBodies> bytes{};
    for (std::uint64_t loop = 0; loop < n; ++loop)
      rubato::parallel_for(0u, kLoopBodies,
                           [&](unsigned i) { bytes[i] = static_cast<std::uint8_t>(short_body(i + loop)); });
    return bytes.back();
  }
  std::uint64_t queens(unsigned n) override {
    create<nonspec>(place, {}, 0u, 0u, 0u, n, 0u);
    rubato::run();
    return Tally::take();
  }
  void for_each(std::vector<std::uint8_t>& bytes) override {
    rubato::parallel_for(std::size_t{0}, bytes.size(),
                         [&](std::size_t i) { bytes[i] = static_cast<std::uint8_t>(short_body(i)); });
  }
  std::uint64_t reduce(std::uint64_t n) override {
    return rubato::parallel_reduce(
        rubato::blocked_range(std::uint64_t{0}, n), std::uint64_t{0},
        [](const auto& range, std::uint64_t sum) {
          for (std::uint64_t i = range.begin(); i != range.end(); ++i) sum += short_body(i);
          return sum;
        },
        std::plus<>());
  }
  void sort(std::vector<std::uint32_t>& numbers) override {
    rubato::parallel_sort(numbers.begin(), numbers.end());
  }
};

}  // namespace

std::unique_ptr<Programs> rubato_native(unsigned workers) { return std::make_unique<Native>(workers); }

}  // namespace divide
