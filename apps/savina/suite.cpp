// SPDX-License-Identifier: MIT
#include "apps/savina/suite.hpp"

#include <algorithm>
#include <numeric>

#include "apps/common/input_error.hpp"

namespace rubato::apps::savina {

// Benchmarks, each in a file of its own.
namespace ping_pong {
extern const Benchmark benchmark;
}
namespace counting {
extern const Benchmark benchmark;
}
namespace throughput {
extern const Benchmark benchmark;
}
namespace creation {
extern const Benchmark benchmark;
}
namespace thread_ring {
extern const Benchmark benchmark;
}
namespace chameneos {
extern const Benchmark benchmark;
}
namespace big {
extern const Benchmark benchmark;
}
namespace streaming {
extern const Benchmark benchmark;
}
namespace dictionary {
extern const Benchmark benchmark;
}
namespace sorted_list {
extern const Benchmark benchmark;
}
namespace bounded_buffer {
extern const Benchmark benchmark;
}
namespace philosophers {
extern const Benchmark benchmark;
}
namespace barber {
extern const Benchmark benchmark;
}
namespace smokers {
extern const Benchmark benchmark;
}
namespace logistic_map {
extern const Benchmark benchmark;
}
namespace banking {
extern const Benchmark benchmark;
}
namespace radix_sort {
extern const Benchmark benchmark;
}
namespace sieve {
extern const Benchmark benchmark;
}
namespace trapezoid {
extern const Benchmark benchmark;
}
namespace matrix {
extern const Benchmark benchmark;
}
namespace quicksort {
extern const Benchmark benchmark;
}
namespace queens {
extern const Benchmark benchmark;
}
namespace fibonacci {
extern const Benchmark benchmark;
}
namespace bitonic_sort {
extern const Benchmark benchmark;
}
namespace filter_bank {
extern const Benchmark benchmark;
}
namespace tree {
extern const Benchmark benchmark;
}
namespace facilities {
extern const Benchmark benchmark;
}
namespace pi {
extern const Benchmark benchmark;
}
namespace paths {
extern const Benchmark benchmark;
}
namespace relaxation {
extern const Benchmark benchmark;
}
namespace search {
extern const Benchmark benchmark;
}

namespace {

constexpr const Benchmark* kBenchmarks[] = {
    &ping_pong::benchmark,
    &counting::benchmark,
    &throughput::benchmark,
    &creation::benchmark,
    &thread_ring::benchmark,
    &chameneos::benchmark,
    &big::benchmark,
    &streaming::benchmark,
    &dictionary::benchmark,
    &sorted_list::benchmark,
    &bounded_buffer::benchmark,
    &philosophers::benchmark,
    &barber::benchmark,
    &smokers::benchmark,
    &logistic_map::benchmark,
    &banking::benchmark,
    &radix_sort::benchmark,
    &filter_bank::benchmark,
    &sieve::benchmark,
    &tree::benchmark,
    &facilities::benchmark,
    &trapezoid::benchmark,
    &pi::benchmark,
    &matrix::benchmark,
    &quicksort::benchmark,
    &paths::benchmark,
    &relaxation::benchmark,
    &search::benchmark,
    &queens::benchmark,
    &fibonacci::benchmark,
    &bitonic_sort::benchmark,
};

std::uint64_t dead_letters_of(const ActorCounters& counters) {
  return std::accumulate(std::begin(counters.dead_letters), std::end(counters.dead_letters),
                         std::uint64_t{0});
}

}  // namespace

std::span<const Benchmark* const> benchmarks() { return kBenchmarks; }

const Benchmark* find_benchmark(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kBenchmarks), std::end(kBenchmarks),
                                         [&](const Benchmark* b) { return b->name == name; });
  return found == std::end(kBenchmarks) ? nullptr : *found;
}

std::uint64_t Iteration::operator[](std::string_view name) const {
  const auto parameters = benchmark_.parameters;
  const auto found =
      std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& p) { return p.name == name; });
  return values_[static_cast<std::size_t>(found - parameters.begin())];
}

void Iteration::refuse(const char* sentence) const {
  throw InputError("--set: " + std::string(benchmark_.name) + ": " + sentence);
}

void Iteration::count(const ActorCounters& before) {
  const ActorCounters now = actor_counters();
  counted_.messages_handled = now.messages_handled - before.messages_handled;
  counted_.spawned = now.spawned - before.spawned;
  counted_.stopped = now.stopped - before.stopped;
  dead_ = dead_letters_of(now) - dead_letters_of(before);
}

void Iteration::expect_end() {
  expect("actors that stopped", counted_.stopped, counted_.spawned);
  if (!has_dead_letters_) expect("dead letters", dead_, dead_expected_);
}

}  // namespace rubato::apps::savina
