// A limit per call of an algorithm, on the host engines.
// SPDX-License-Identifier: MIT
#if !defined(__riscv)
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
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
    const unsigned with_me = ++now;
    for (unsigned seen = most; seen < with_me && !most.compare_exchange_weak(seen, with_me);) {
    }
    std::this_thread::yield();  // lets another worker come beside it
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
