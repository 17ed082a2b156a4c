// Cost of a task of the native engine: created and run, alone and in crowds, with and without annotations
// (R1). RUBATO_WORKERS chooses the number of workers.
// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>

#include "rubato/rubato.hpp"

namespace {

using namespace rubato;

void count_tasks(benchmark::State& state, std::uint64_t tasks_an_iteration) {
  state.SetItemsProcessed(static_cast<std::int64_t>(tasks_an_iteration) * state.iterations());
}

constexpr std::uint64_t kTasks = 1 << 18;

void chain(std::uint64_t left) {
  if (left != 0) create<nonspec>(chain, {}, left - 1);
}
void one_after_the_other(benchmark::State& state) {
  for (auto _ : state) {
    create<nonspec>(chain, {}, kTasks);
    run();
  }
  count_tasks(state, kTasks);
}
BENCHMARK(one_after_the_other);

void empty() {}
void creates_many(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) create<nonspec>(empty, {});
}
/// Crowds of `range` empty tasks, one crowd after the other.
void in_crowds(std::uint64_t crowds, std::uint64_t size) {
  creates_many(size);
  if (crowds != 0) create<nonspec>(in_crowds, {}, crowds - 1, size);
}
void crowds(benchmark::State& state) {
  const auto size = static_cast<std::uint64_t>(state.range(0));
  for (auto _ : state) {
    create<nonspec>(in_crowds, {}, kTasks / size, size);
    run();
  }
  count_tasks(state, kTasks);
}
BENCHMARK(crowds)->Arg(16)->Arg(256)->Arg(16384);

void ordered_chain(std::uint64_t left) {
  if (left != 0) create<nonspec>(ordered_chain, {.at = timestamp() + 1}, left - 1);
}
void ordered_one_after_the_other(benchmark::State& state) {
  for (auto _ : state) {
    create<nonspec>(ordered_chain, {.at = 0}, kTasks);
    run();
  }
  count_tasks(state, kTasks);
}
BENCHMARK(ordered_one_after_the_other);

/// 1000 tasks with timestamps ahead, as a graph search has.
void ordered_wave(std::uint64_t left) {
  if (left != 0)
    create<nonspec>(ordered_wave, {.at = timestamp() + 1 + left * 7919 % 1000, .on = left}, left - 1);
}
void ordered_waves(benchmark::State& state) {
  for (auto _ : state) {
    for (std::uint64_t i = 0; i < 1000; ++i) create<nonspec>(ordered_wave, {.at = i}, kTasks / 1000);
    run();
  }
  count_tasks(state, kTasks);
}
BENCHMARK(ordered_waves);

struct alignas(64) Line {
  tracked<std::uint64_t> value;
};
resource<Line> lines[64];
void reads_line(std::uint64_t left) {
  const resource<Line> line = lines[left % 64];
  benchmark::DoNotOptimize(line->value.get());
  if (left != 0) create<nonspec>(reads_line, {.on = lines[(left - 1) % 64], .access = reads}, left - 1);
}
/// 64 at once, so that prefetching has something to do.
void readers(benchmark::State& state) {
  for (auto& line : lines) {
    line = make_resource<Line>({.isolation = Isolation::shared_reads, .ratio = Ratio::mostly_reads});
  }
  for (auto _ : state) {
    for (std::uint64_t i = 0; i < 64; ++i)
      create<nonspec>(reads_line, {.on = lines[i], .access = reads}, kTasks / 64);
    run();
  }
  for (auto& line : lines) remove(line);
  count_tasks(state, kTasks);
}
BENCHMARK(readers);

void lasts(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}
/// The first that the engine sees of their function: nothing has told it that they are long.
void long_tasks(benchmark::State& state) {
  constexpr std::uint64_t kLong = 8;
  for (auto _ : state) {
    for (std::uint64_t i = 0; i < kLong; ++i) create<nonspec>(lasts, {}, std::chrono::milliseconds(5));
    run();
  }
  count_tasks(state, kLong);
}
BENCHMARK(long_tasks)->Iterations(1)->UseRealTime();

// Each twice with a fixed number of iterations: the difference between the two is the cost of kTasks tasks,
// without what the program does once. tests/system/test_native_instructions.py counts its instructions.
BENCHMARK(one_after_the_other)->Iterations(1);
BENCHMARK(one_after_the_other)->Iterations(3);
BENCHMARK(crowds)->Arg(256)->Iterations(1);
BENCHMARK(crowds)->Arg(256)->Iterations(3);
BENCHMARK(ordered_one_after_the_other)->Iterations(1);
BENCHMARK(ordered_one_after_the_other)->Iterations(3);
BENCHMARK(readers)->Iterations(1);
BENCHMARK(readers)->Iterations(3);

}  // namespace
