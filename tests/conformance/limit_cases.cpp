// A limit per call of an algorithm, on the host engines.
// SPDX-License-Identifier: MIT
#if !defined(__riscv)
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rubato/limited.hpp"
#include "tests/conformance/harness.hpp"

namespace {

using namespace rubato;

/// How many bodies run at once, and how many did at most.
struct AtOnce {
  void enter() {
    note();
    std::this_thread::yield();  // lets another worker come beside it
  }
  void note() {
    const unsigned with_me = ++now;
    for (unsigned seen = most; seen < with_me && !most.compare_exchange_weak(seen, with_me);) {
    }
  }
  void leave() { --now; }
  std::atomic<unsigned> now{0}, most{0};
};

CASE(a_limited_loop_runs_every_part_on_so_many_workers_at_most) {
  for (const unsigned limit : {1u, 2u, 3u, 100u}) {
    AtOnce at_once;
    std::vector<std::uint64_t> visits(1000);
    parallel_for(at_most(limit, blocked_range(0, 1000, 7)), [&](const blocked_range<int>& part) {
      at_once.enter();
      for (int i = part.begin(); i != part.end(); ++i) ++visits[static_cast<std::size_t>(i)];
      at_once.leave();
    });
    CHECK(at_once.most >= 1);
    CHECK(at_once.most <= limit);
    CHECK(std::all_of(visits.begin(), visits.end(), [](std::uint64_t n) { return n == 1; }));
  }
}

CASE(a_limited_loop_of_nothing_calls_nothing) {
  std::uint64_t ran = 0;
  parallel_for(at_most(2, blocked_range(5, 5)), [&ran](const blocked_range<int>&) { ++ran; });
  CHECK(ran == 0);
}

CASE(a_limited_loop_in_a_task_goes_on_afterwards) {
  std::atomic<int> sum{0};
  int seen = 0;
  AtOnce at_once;
  create<nonspec>(
      [&] {
        const auto body = [&](const blocked_range<int>& part) {
          at_once.enter();
          sum += part.end() - part.begin();
          at_once.leave();
        };
        parallel_for(at_most(2, blocked_range(0, 100, 3)), body, then([&] { seen = sum; }));
      },
      {});
  run();
  CHECK(seen == 100);
  CHECK(at_once.most <= 2);
}

CASE(a_limited_reduction_is_the_same) {
  const auto add = [](const blocked_range<int>& part, std::string sum) {
    for (int i = part.begin(); i != part.end(); ++i) sum += static_cast<char>('a' + i % 26);
    return sum;
  };
  const blocked_range<int> range(0, 200, 9);
  const std::string expected = parallel_reduce(range, std::string(), add, std::plus<>());
  std::string in_task;
  CHECK(parallel_reduce(at_most(1, range), std::string(), add, std::plus<>()) == expected);
  CHECK(parallel_reduce(at_most(3, range), std::string(), add, std::plus<>()) == expected);
  create<nonspec>(
      [&] {
        parallel_reduce(at_most(2, range), std::string(), add, std::plus<>(),
                        then([&in_task](std::string sum) { in_task = std::move(sum); }));
      },
      {});
  run();
  CHECK(in_task == expected);
}

CASE(a_limited_loop_over_a_container_visits_each_element_once) {
  for (const unsigned limit : {1u, 2u, 3u, 100u}) {
    AtOnce at_once;
    std::list<int> list(300, 1);  // forward iterators
    std::vector<int> vector(300, 1);
    const auto body = [&at_once](int& element) {
      at_once.enter();
      element *= 2;
      at_once.leave();
    };
    parallel_for_each(at_most(limit, blocked_range(list.begin(), list.end())), body);
    parallel_for_each(at_most(limit, blocked_range(vector.begin(), vector.end())), body);
    CHECK(list == std::list<int>(300, 2));
    CHECK(vector == std::vector<int>(300, 2));
    CHECK(at_once.most >= 1);
    CHECK(at_once.most <= limit);
    int seen = 0;
    create<nonspec>(
        [&] {
          parallel_for_each(at_most(limit, blocked_range(list.begin(), list.end())), body,
                            then([&] { seen = std::accumulate(list.begin(), list.end(), 0); }));
        },
        {});
    run();
    CHECK(seen == 1200);
    CHECK(at_once.most <= limit);
  }
  std::list<int> empty;
  std::uint64_t ran = 0;
  parallel_for_each(at_most(2, blocked_range(empty.begin(), empty.end())), [&ran](int&) { ++ran; });
  CHECK(ran == 0);
}

/// Writes the letters before each place, and its own, of a word of `size` letters. @returns the whole word.
std::string scan_letters(unsigned limit, int size, bool in_task) {
  AtOnce at_once;
  std::vector<std::string> prefixes(static_cast<std::size_t>(size));
  const auto body = [&](const blocked_range<int>& part, std::string before, bool is_final) {
    at_once.enter();
    for (int i = part.begin(); i != part.end(); ++i) {
      before += static_cast<char>('a' + i % 26);
      if (is_final) prefixes[static_cast<std::size_t>(i)] = before;
    }
    at_once.leave();
    return before;
  };
  const auto limited = at_most(limit, blocked_range(0, size, 9));
  std::string whole;
  if (in_task) {
    create<nonspec>(
        [&] {
          parallel_scan(limited, std::string(), body, std::plus<>(),
                        then([&whole](std::string all) { whole = std::move(all); }));
        },
        {});
    run();
  } else {
    whole = parallel_scan(limited, std::string(), body, std::plus<>());
  }
  for (std::size_t i = 0; i < prefixes.size(); ++i) CHECK(prefixes[i] == whole.substr(0, i + 1));
  CHECK(at_once.most <= limit);
  return whole;
}

CASE(a_limited_scan_is_the_same) {
  for (const int size : {0, 1, 9, 10, 200}) {
    std::string expected;
    for (int i = 0; i < size; ++i) expected += static_cast<char>('a' + i % 26);
    for (const unsigned limit : {1u, 2u, 3u, 100u}) {
      CHECK(scan_letters(limit, size, false) == expected);
      CHECK(scan_letters(limit, size, true) == expected);
    }
  }
}

/// Numbers in no order, with `different` values.
std::vector<std::uint64_t> some_numbers(std::size_t size, std::uint64_t different) {
  std::vector<std::uint64_t> numbers(size);
  for (std::size_t i = 0; i < size; ++i) numbers[i] = (i + 1) * 0x9e3779b97f4a7c15u % different;
  return numbers;
}

CASE(a_limited_sort_sorts_on_so_many_workers_at_most) {
  for (const unsigned limit : {1u, 2u, 3u, 100u}) {
    for (const std::size_t size : {0u, 1u, 2u, 10'000u}) {
      for (const std::uint64_t different : {1ull, 10ull, 1'000'000'007ull}) {
        AtOnce at_once;
        std::vector<std::uint64_t> numbers = some_numbers(size, different), expected = numbers;
        std::sort(expected.begin(), expected.end(), std::greater<>());
        const auto greater = [&at_once](std::uint64_t a, std::uint64_t b) {
          at_once.note();
          const bool is_greater = a > b;
          at_once.leave();
          return is_greater;
        };
        parallel_sort(at_most(limit, blocked_range(numbers.begin(), numbers.end())), greater);
        CHECK(numbers == expected);
        CHECK(at_once.most <= limit);
      }
    }
  }
}

CASE(a_limited_sort_in_a_task_goes_on_afterwards) {
  std::vector<std::uint64_t> numbers = some_numbers(30'000, 1'000'000'007), other = numbers,
                             expected = numbers;
  std::sort(expected.begin(), expected.end());
  bool is_sorted = false, is_reversed = false;
  create<nonspec>(
      [&] {
        parallel_sort(at_most(2, blocked_range(numbers.begin(), numbers.end())),
                      then([&] { is_sorted = numbers == expected; }));
        parallel_sort(at_most(3, blocked_range(other.begin(), other.end())), std::greater<>(), then([&] {
                        is_reversed = std::equal(other.rbegin(), other.rend(), expected.begin());
                      }));
      },
      {});
  run();
  CHECK(is_sorted);
  CHECK(is_reversed);
}

CASE(a_limited_sort_throws_what_its_order_throws) {
  std::vector<std::uint64_t> numbers = some_numbers(20'000, 1'000'000'007);
  for (const unsigned limit : {1u, 3u}) {
    std::atomic<unsigned> calls{0};
    bool has_caught = false;
    try {
      parallel_sort(at_most(limit, blocked_range(numbers.begin(), numbers.end())),
                    [&calls](std::uint64_t a, std::uint64_t b) {
                      if (++calls == 50'000) throw std::out_of_range("as asked");
                      return a < b;
                    });
    } catch (const std::out_of_range&) {
      has_caught = true;
    }
    CHECK(has_caught);
  }
}

CASE(a_limited_loop_throws_what_its_body_throws) {
  bool has_caught = false;
  std::atomic<unsigned> ran{0};
  try {
    parallel_for(at_most(1, blocked_range(0, 1000, 1)), [&ran](const blocked_range<int>& part) {
      ++ran;
      if (part.begin() == 3) throw std::out_of_range("as asked");
    });
  } catch (const std::out_of_range&) {
    has_caught = true;
  }
  CHECK(has_caught);
  CHECK(ran == 4);  // no further part starts
}

ERROR_CASE(a_limit_of_no_worker, "at_most\\(\\) is called with 0 workers") {
  parallel_for(at_most(0, blocked_range(0, 10)), [](const blocked_range<int>&) {});
}

}  // namespace
#endif
