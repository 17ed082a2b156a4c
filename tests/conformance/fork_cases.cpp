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

TYPED_CASE(fork_join_keeps_the_stack_of_a_task) {
  std::uint64_t result = 0;
  create<type>([&result] { result = fibonacci(10); }, {});
  run();
  CHECK(result == 55);
}

TYPED_CASE(fork_join_keeps_the_timestamp_of_a_task) {
  std::array<std::uint64_t, 2> seen{};
  create<type>(
      [&seen] { fork_join([&] { seen[0] = timestamp(); }, [&] { seen[1] = timestamp(); }); }, {.at = 7});
  run();
  CHECK(seen[0] == 7 && seen[1] == 7);
}

CASE(fork_join_creates_tasks_of_its_group) {
  TaskGroup group;
  std::uint64_t members = 0, seen = 0;
  create<TaskType::nonspec>(
      [&] {
        const auto create_members = [&] {
          for (int i = 0; i < 5; ++i)
            create<TaskType::nonspec>([&members] { count(members); }, {.group = &group});
        };
        fork_join(create_members, create_members);
      },
      {.group = &group});
  create<TaskType::nonspec>([&] { seen = members; }, {.after = &group});
  run();
  CHECK(seen == 10);
}

}  // namespace
