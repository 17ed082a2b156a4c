// Loops with a step, over containers and in tiles; merge, stable sort and find; pipelines and graphs of
// tasks.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rubato/fork_algorithms.hpp"
#include "rubato/loops.hpp"
#include "rubato/pipeline.hpp"
#include "rubato/task_graph.hpp"
#include "tests/conformance/harness.hpp"

namespace {

using namespace rubato;
using conformance::count;
using conformance::linger;

CASE(loops_with_a_step_leave_out_what_is_between) {
  std::array<std::uint64_t, 20> calls{};
  parallel_for(2, 19, 5, [&](int i) { count(calls[static_cast<std::size_t>(i)]); });
  for (std::size_t i = 0; i < calls.size(); ++i) CHECK(calls[i] == (i == 2 || i == 7 || i == 12 || i == 17));
}

CASE(loops_take_containers) {
  std::vector<std::uint64_t> numbers(100, 1);
  parallel_for_each(numbers, [](std::uint64_t& n) { ++n; });
  CHECK(std::count(numbers.begin(), numbers.end(), 2) == 100);
}

CASE(loops_in_tiles_cover_both_dimensions_once) {
  std::vector<std::uint64_t> calls(7 * 30);
  std::uint64_t too_large = 0;
  parallel_for(blocked_range2d(0u, 7u, 0u, 30u, 3, 8), [&](const auto& tile) {
    if (tile.rows().size() > 3 || tile.cols().size() > 8) count(too_large);
    for (unsigned r = tile.rows().begin(); r != tile.rows().end(); ++r)
      for (unsigned c = tile.cols().begin(); c != tile.cols().end(); ++c) count(calls[r * 30 + c]);
  });
  CHECK(std::count(calls.begin(), calls.end(), 1) == 7 * 30);
  CHECK(too_large == 0);
}

CASE(merge_sort_and_find_are_as_those_of_the_library) {
  std::vector<std::uint64_t> a(6000), b(3000);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = i * 7919 % 6007;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = i * 104729 % 3001;
  parallel_stable_sort(a.begin(), a.end());
  parallel_stable_sort(b.begin(), b.end());
  CHECK(std::is_sorted(a.begin(), a.end()) && std::is_sorted(b.begin(), b.end()));
  std::vector<std::uint64_t> ours(9000), theirs(9000);
  parallel_merge(a.begin(), a.end(), b.begin(), b.end(), ours.begin());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), theirs.begin());
  CHECK(ours == theirs);
  const auto is_large = [](std::uint64_t n) { return n >= 2500; };
  CHECK(parallel_find_if(ours.begin(), ours.end(), is_large) ==
        std::find_if(ours.begin(), ours.end(), is_large));
}

// ---- Pipelines ----

struct Item {
  std::uint64_t number;
};

/// A source of so many items.
auto items(std::uint64_t size) {
  return [size, next = std::uint64_t{0}]() mutable -> std::optional<Item> {
    if (next == size) return std::nullopt;
    return Item{next++};
  };
}

CASE(a_pipeline_keeps_the_order_and_the_limit) {
  for (const std::uint64_t limit : {0, 1, 2, 3, 16, 200}) {
    std::uint64_t under_way = 0, too_many = 0, inside = 0, meetings = 0;
    std::vector<std::uint64_t> first, last;
    auto source = [&, make = items(100)]() mutable -> std::optional<Item> {
      const std::optional<Item> item = make();
      if (item && __atomic_add_fetch(&under_way, 1, __ATOMIC_RELAXED) > std::max<std::uint64_t>(limit, 1))
        count(too_many);
      return item;
    };
    parallel_pipeline(
        limit, source,
        [](Item item) {
          linger(item.number % 7 == 0 ? 500 : 10);  // others overtake it
          return item.number;
        },
        in_order([&](std::uint64_t number) {
          if (__atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED) != 1) count(meetings);
          first.push_back(number);
          __atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED);
          return std::to_string(number);
        }),
        [](std::string text) { return std::stoull(text) * 2; }, in_order([&](unsigned long long twice) {
          last.push_back(twice / 2);
          __atomic_sub_fetch(&under_way, 1, __ATOMIC_RELAXED);
        }));
    std::vector<std::uint64_t> expected(100);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(first == expected);
    CHECK(last == expected);
    CHECK(too_many == 0);
    CHECK(meetings == 0);
  }
}

CASE(a_pipeline_ends_with_its_source) {
  std::uint64_t calls = 0;
  parallel_pipeline(4, items(0), [&](Item) { count(calls); });
  CHECK(calls == 0);
  parallel_pipeline(4, items(50), [&](Item) { count(calls); });
  CHECK(calls == 50);
}

CASE(a_pipeline_in_a_task_goes_on_with_its_continuation) {
  struct Sums {
    std::uint64_t sum = 0, seen = 0;
  } sums;
  create<TaskType::nonspec>(
      [](Sums* s) {
        parallel_pipeline(3, items(20), in_order([s](Item item) { s->sum += item.number; }),
                          then([s] { s->seen = s->sum; }));
      },
      {}, &sums);
  run();
  CHECK(sums.seen == 190);
}

// ---- Graphs ----

CASE(a_graph_keeps_its_order_in_each_run) {
  constexpr std::uint64_t kSide = 8;
  TaskGraph graph;
  std::vector<std::uint64_t> paths(kSide * kSide);  // to each field of a board, from the first one
  std::vector<TaskGraph::Node> nodes;
  for (std::uint64_t i = 0; i < kSide * kSide; ++i) {
    nodes.push_back(graph.add([&paths, i] {
      paths[i] += i == 0 ? 1 : 0;
      if (i >= kSide) paths[i] += paths[i - kSide];
      if (i % kSide != 0) paths[i] += paths[i - 1];
    }));
    if (i >= kSide) graph.order(nodes[i - kSide], nodes[i]);
    if (i % kSide != 0) graph.order(nodes[i - 1], nodes[i]);
  }
  for (int round = 0; round < 5; ++round) {
    std::fill(paths.begin(), paths.end(), 0);
    graph.run();
    CHECK(paths.back() == 3432);  // 14 over 7
  }
  const TaskGraph::Node behind = graph.add([&] { paths.push_back(1); });  // changed between two runs
  graph.order(nodes.back(), behind);
  std::fill(paths.begin(), paths.end(), 0);
  graph.run();
  CHECK(paths.size() == kSide * kSide + 1 && paths[kSide * kSide - 1] == 3432);
}

CASE(a_graph_in_a_task_goes_on_with_its_continuation) {
  struct Counted {
    TaskGraph graph;
    std::uint64_t calls = 0, seen = 0;
  } counted;
  const auto first = counted.graph.add([&] { count(counted.calls); });
  for (int i = 0; i < 10; ++i) counted.graph.order(first, counted.graph.add([&] { count(counted.calls); }));
  create<TaskType::nonspec>([](Counted* c) { c->graph.run(then([c] { c->seen = c->calls; })); }, {},
                            &counted);
  run();
  CHECK(counted.seen == 11);
  TaskGraph none;
  none.run();
  CHECK(none.size() == 0 && counted.graph.size() == 11);
}

ERROR_CASE(a_graph_in_a_circle,
           "TaskGraph::run\\(\\): functions of the graph wait for each other in a circle") {
  TaskGraph graph;
  const auto a = graph.add([] {}), b = graph.add([] {}), c = graph.add([] {});
  graph.order(a, b);
  graph.order(b, c);
  graph.order(c, b);
  graph.run();
}

ERROR_CASE(a_loop_whose_step_is_zero,
           "parallel_for\\(\\) is called with step 0, but its steps go up: pass 1 or more") {
  parallel_for(0, 10, 0, [](int) {});
}
ERROR_CASE(a_loop_whose_step_goes_down,
           "parallel_for\\(\\) is called with step -2, but its steps go up: pass 1 or more") {
  parallel_for(10, 0, -2, [](int) {});
}

}  // namespace
