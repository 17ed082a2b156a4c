// The algorithms of rubato/algorithms.hpp, outside tasks and in them.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstdint>
#include <forward_list>
#include <functional>
#include <string>
#include <vector>

#include "rubato/algorithms.hpp"
#include "tests/conformance/harness.hpp"

namespace {

using namespace rubato;
using conformance::count;

constexpr std::uint64_t kSizes[] = {0, 1, 2, 3, 63, 64, 65, 500};

bool is_each_once(const std::vector<std::uint64_t>& calls) {
  return std::all_of(calls.begin(), calls.end(), [](std::uint64_t n) { return n == 1; });
}

CASE(parallel_for_calls_the_body_once_for_each_index) {
  for (const std::uint64_t size : kSizes) {
    std::vector<std::uint64_t> calls(size + 7);
    parallel_for(7, size + 7, [&](std::uint64_t i) { count(calls[i]); });
    CHECK(std::count(calls.begin(), calls.begin() + 7, 0) == 7);
    calls.erase(calls.begin(), calls.begin() + 7);
    CHECK(is_each_once(calls));
  }
}

CASE(parallel_for_counts_below_zero_and_not_backwards) {
  std::array<std::uint64_t, 10> calls{};
  parallel_for(-5, 5, [&](int i) { count(calls[static_cast<std::size_t>(i + 5)]); });
  CHECK(std::count(calls.begin(), calls.end(), 1) == 10);
  parallel_for(5, -5, [&](int) { count(calls[0]); });
  CHECK(calls[0] == 1);
}

CASE(parallel_for_keeps_to_a_grain) {
  for (const std::uint64_t grain : {1, 7, 64, 100}) {
    std::vector<std::uint64_t> calls(100);
    std::uint64_t parts = 0, too_large = 0;
    parallel_for(blocked_range(calls.begin(), calls.end(), grain), [&](const auto& part) {
      count(parts);
      if (part.size() > grain || part.size() == 0) count(too_large);
      for (std::uint64_t& n : part) count(n);
    });
    CHECK(is_each_once(calls));
    CHECK(parts == (100 + grain - 1) / grain);
    CHECK(too_large == 0);
  }
}

CASE(parallel_for_each_takes_forward_iterators) {
  std::forward_list<std::uint64_t> list;
  for (std::uint64_t i = 0; i < 200; ++i) list.push_front(i);
  parallel_for_each(list.begin(), list.end(), [](std::uint64_t& n) { n = 2 * n; });
  std::uint64_t next = 200, wrong = 0;
  for (const std::uint64_t n : list) wrong += n != 2 * --next;
  CHECK(wrong == 0 && next == 0);
  list.clear();
  parallel_for_each(list.begin(), list.end(), [&](std::uint64_t&) { count(wrong); });
  CHECK(wrong == 0);
}

/// "0 1 2 ...", put together of parts: neither commutative nor of a word.
std::string text_of(std::uint64_t first, std::uint64_t last) {
  std::string text;
  for (std::uint64_t i = first; i < last; ++i) text += std::to_string(i) + " ";
  return text;
}
std::string text_of_part(const blocked_range<std::uint64_t>& part, std::string before) {
  return before + text_of(part.begin(), part.end());
}

CASE(parallel_reduce_combines_neighbours_in_order) {
  for (const std::uint64_t size : kSizes) {
    for (const std::uint64_t grain : {0, 1, 9}) {
      const std::string text = parallel_reduce(blocked_range(std::uint64_t{0}, size, grain), std::string(),
                                               text_of_part, std::plus<>());
      CHECK(text == text_of(0, size));
    }
  }
}

CASE(parallel_scan_gives_every_part_what_comes_before) {
  for (const std::uint64_t size : kSizes) {
    for (const std::uint64_t grain : {0, 1, 9}) {
      std::vector<std::uint64_t> sums(size);
      const std::uint64_t total = parallel_scan(
          blocked_range(std::uint64_t{0}, size, grain), std::uint64_t{0},
          [&](const auto& part, std::uint64_t sum, bool is_final) {
            for (std::uint64_t i = part.begin(); i != part.end(); ++i) {
              sum += i;
              if (is_final) sums[i] = sum;
            }
            return sum;
          },
          std::plus<>());
      std::uint64_t wrong = 0;
      for (std::uint64_t i = 0; i < size; ++i) wrong += sums[i] != i * (i + 1) / 2;
      CHECK(wrong == 0);
      CHECK(total == (size == 0 ? 0 : size * (size - 1) / 2));
    }
  }
}

CASE(parallel_invoke_calls_all) {
  std::uint64_t a = 0, b = 0, c = 0;
  parallel_invoke([&] { count(a); }, [&] { count(b); }, [&] { count(c); });
  CHECK(a == 1 && b == 1 && c == 1);
  parallel_invoke([&] { count(a); });
  CHECK(a == 2);
}

std::vector<std::uint32_t> numbers_of(std::uint64_t size, std::uint32_t different) {
  std::vector<std::uint32_t> numbers(size);
  std::uint64_t x = size;
  for (std::uint32_t& n : numbers) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    n = static_cast<std::uint32_t>(x >> 33) % different;
  }
  return numbers;
}

CASE(parallel_sort_sorts) {
  for (const std::uint64_t size : {0, 1, 2, 2048, 2049, 9000}) {
    for (const std::uint32_t different : {1u, 2u, 40u, 1u << 31}) {
      std::vector<std::uint32_t> numbers = numbers_of(size, different), expected = numbers;
      std::sort(expected.begin(), expected.end());
      parallel_sort(numbers.begin(), numbers.end());
      CHECK(numbers == expected);
    }
  }
}

CASE(parallel_sort_takes_an_order_and_what_is_sorted) {
  std::vector<std::uint32_t> numbers = numbers_of(6000, 1u << 31), expected = numbers;
  std::sort(expected.begin(), expected.end(), std::greater<>());
  parallel_sort(numbers.begin(), numbers.end(), std::greater<>());
  CHECK(numbers == expected);
  parallel_sort(numbers.begin(), numbers.end(), std::greater<>());
  CHECK(numbers == expected);
  parallel_sort(numbers.begin(), numbers.end());
  CHECK(std::is_sorted(numbers.begin(), numbers.end()));
}

// ---- From a task ----

std::vector<std::uint64_t> calls;
std::uint64_t violations = 0, continued = 0;
TaskGroup whole;

void continues(bool is_right) {
  if (!is_right) count(violations);
  count(continued);
}
void reset(std::uint64_t size) {
  calls.assign(size, 0);
  violations = continued = 0;
}

void calls_parallel_for() {
  parallel_for(
      std::size_t{0}, calls.size(), [](std::size_t i) { count(calls[i]); },
      then([] { continues(is_each_once(calls)); }, &whole));
}

CASE(a_task_goes_on_after_parallel_for) {
  for (const std::uint64_t size : kSizes) {
    reset(size);
    create<nonspec>(calls_parallel_for, {.group = &whole});
    create<nonspec>([] { continues(continued == 1); }, {.after = &whole});
    run();
    CHECK(is_each_once(calls) && continued == 2 && violations == 0);
  }
}

CASE(algorithms_keep_the_timestamp) {
  reset(100);
  create<nonspec>(calls_parallel_for, {.at = 5});
  create<nonspec>([] { continues(continued == 1); }, {.at = 6});
  run();
  CHECK(is_each_once(calls) && continued == 2 && violations == 0);
}

/// A tree of parallel_invoke: each level waits for the two below by a group.
void invokes(unsigned depth, TaskGroup* group) {
  count(calls[0]);
  if (depth == 0) return;
  auto* const both = new TaskGroup;
  parallel_invoke([depth, both] { create<nonspec>(invokes, {.group = both}, depth - 1, both); },
                  [depth, both] { create<nonspec>(invokes, {.group = both}, depth - 1, both); },
                  then(
                      [both, group] {
                        create<nonspec>([](TaskGroup* g) { delete g; }, {.group = group, .after = both},
                                        both);
                      },
                      group));
}

CASE(algorithms_nest_by_groups) {
  reset(1);
  create<nonspec>(invokes, {.group = &whole}, 4u, &whole);
  create<nonspec>([] { continues(calls[0] == 31); }, {.after = &whole});
  run();
  CHECK(continued == 1 && violations == 0);
}

CASE(a_task_gets_the_result) {
  reset(0);
  static std::vector<std::uint32_t> numbers;
  numbers = numbers_of(5000, 1u << 31);
  create<nonspec>(
      [] {
        parallel_reduce(blocked_range(std::uint64_t{0}, std::uint64_t{500}), std::string(), text_of_part,
                        std::plus<>(),
                        then([](const std::string& text) { continues(text == text_of(0, 500)); }));
        parallel_scan(
            blocked_range(1, 101), 0,
            [](const auto& part, int sum, bool) {
              for (int i = part.begin(); i != part.end(); ++i) sum += i;
              return sum;
            },
            std::plus<>(), then([](int sum) { continues(sum == 5050); }));
        parallel_sort(numbers.begin(), numbers.end(),
                      then([] { continues(std::is_sorted(numbers.begin(), numbers.end())); }));
        parallel_for_each(
            numbers.begin(), numbers.begin() + 100, [](std::uint32_t&) {}, then([] { continues(true); }));
      },
      {});
  run();
  CHECK(continued == 4 && violations == 0);
}

ERROR_CASE(an_algorithm_without_continuation_in_a_task,
           "calls run\\(\\), which only code outside tasks may do") {
  create<nonspec>([] { parallel_for(0, 10, [](int) {}); }, {});
  run();
}

}  // namespace
