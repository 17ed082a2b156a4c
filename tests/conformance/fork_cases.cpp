// rubato/fork_join.hpp, outside tasks and in them.
// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>

#include "rubato/fork_join.hpp"
#include "tests/conformance/harness.hpp"

namespace {

using namespace rubato;
using conformance::count;

std::uint64_t fibonacci(unsigned n) {
  if (n < 2) return n;
  std::uint64_t a = 0, b = 0;
  fork_join([&] { a = fibonacci(n - 1); }, [&] { b = fibonacci(n - 2); });
  return a + b;
}

CASE(fork_join_returns_when_all_functions_have) {
  CHECK(fibonacci(12) == 144);
  std::array<std::uint64_t, 4> calls{};
  fork_join([&] { count(calls[0]); }, [&] { count(calls[1]); }, [&] { count(calls[2]); });
  fork_join([&] { count(calls[3]); });
  for (const std::uint64_t n : calls) CHECK(n == 1);
}

struct Numbers {
  std::uint64_t first, second;
};

TYPED_CASE(fork_join_keeps_the_stack_of_a_task) {
  Numbers numbers{};
  create<type>([](Numbers* n) { n->first = fibonacci(10); }, {}, &numbers);
  run();
  CHECK(numbers.first == 55);
}

TYPED_CASE(fork_join_keeps_the_timestamp_of_a_task) {
  Numbers seen{};
  create<type>(
      [](Numbers* s) { fork_join([s] { s->first = timestamp(); }, [s] { s->second = timestamp(); }); },
      {.at = 7}, &seen);
  run();
  CHECK(seen.first == 7 && seen.second == 7);
}

CASE(fork_join_creates_tasks_of_its_group) {
  struct Counts {
    TaskGroup group;
    std::uint64_t members = 0, seen = 0;
  } counts;
  create<TaskType::nonspec>(
      [](Counts* c) {
        const auto create_members = [c] {
          for (int i = 0; i < 5; ++i)
            create<TaskType::nonspec>([](Counts* counted) { count(counted->members); }, {.group = &c->group},
                                      c);
        };
        fork_join(create_members, create_members);
      },
      {.group = &counts.group}, &counts);
  create<TaskType::nonspec>([](Counts* c) { c->seen = c->members; }, {.after = &counts.group}, &counts);
  run();
  CHECK(counts.seen == 10);
}

}  // namespace
