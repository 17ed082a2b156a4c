// Cost of the native engine's task memory and epochs (R7 and R8):
// build/release/bin/bench_native_memory. `local`: one worker creates and frees. `across`: one thread creates
// and writes tasks, another reads and frees them. The time is that of a task on the creating thread.
// `handover` is the same with blocks that are never freed: the cost of the handover itself. Bars: 4 ns a pair
// locally, 15 ns across.
// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include <time.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <thread>
#include <vector>

#include "native/memory/epochs.hpp"
#include "native/memory/task_heap.hpp"
#include "native/topology/topology.hpp"

namespace {

using rubato::native::EpochMember;
using rubato::native::Epochs;
using rubato::native::TaskHeap;
using rubato::native::WorkerHeap;

void write_task(void* block, std::uint64_t value) {
  auto* const words = static_cast<std::uint64_t*>(block);
  words[0] = value;
  words[1] = value;
}

/// `depth` tasks are in use at any time.
void local_pair(benchmark::State& state, bool uses_malloc) {
  TaskHeap heap({.uses_malloc = uses_malloc});
  WorkerHeap worker(heap, 0);
  const auto depth = static_cast<std::size_t>(state.range(0));
  std::vector<void*> in_use(depth);
  for (void*& block : in_use) block = worker.allocate<64>();
  std::size_t next = 0;
  for (auto _ : state) {
    worker.free<64>(in_use[next]);
    void* const block = worker.allocate<64>();
    write_task(block, next);
    benchmark::DoNotOptimize(block);
    in_use[next] = block;
    if (++next == depth) next = 0;
  }
  for (void* block : in_use) worker.free<64>(block);
}
void local(benchmark::State& state) { local_pair(state, false); }
void local_malloc(benchmark::State& state) { local_pair(state, true); }

/// A burst of tasks is created, then all are freed: batches travel to the core group and back.
void burst(benchmark::State& state) {
  TaskHeap heap;
  WorkerHeap worker(heap, 0);
  std::vector<void*> blocks(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    for (void*& block : blocks) {
      block = worker.allocate<64>();
      write_task(block, 1);
    }
    for (void* block : blocks) worker.free<64>(block);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}

enum class Memory { heap, malloc, none };

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Two pinned threads in turn: one creates and writes `kTasks` tasks, then the other reads and frees them.
/// Counts processor time of both, not the waiting, so that other programs disturb it little.
void hand_over(benchmark::State& state, Memory memory) {
  constexpr std::uint64_t kTasks = 2'000;
  TaskHeap heap({.uses_malloc = memory == Memory::malloc});
  std::vector<void*> blocks(kTasks);
  if (memory == Memory::none) {
    WorkerHeap worker(heap, 0);
    for (void*& block : blocks) block = worker.allocate<64>();
  }
  const std::vector<unsigned> cpus = rubato::native::current_affinity();
  std::barrier turn(2);
  std::atomic<bool> is_done{false};
  double seconds = 0;
  std::thread consumer([&] {
    rubato::native::pin_this_thread(cpus.back());
    WorkerHeap worker(heap, 0);
    for (;;) {
      turn.arrive_and_wait();
      if (is_done) break;
      const double start = thread_seconds();
      std::uint64_t sum = 0;
      for (void* const block : blocks) {
        sum += *static_cast<std::uint64_t*>(block);
        if (memory != Memory::none) worker.free<64>(block);
      }
      benchmark::DoNotOptimize(sum);
      seconds += thread_seconds() - start;
      turn.arrive_and_wait();
    }
  });
  std::thread producer([&] {
    rubato::native::pin_this_thread(cpus.front());
    WorkerHeap worker(heap, 0);
    for (auto _ : state) {
      const double start = thread_seconds();
      for (void*& block : blocks) {
        if (memory != Memory::none) block = worker.allocate<64>();
        write_task(block, 1);
      }
      seconds += thread_seconds() - start;
      turn.arrive_and_wait();
      turn.arrive_and_wait();
    }
    is_done = true;
    turn.arrive_and_wait();
  });
  producer.join();
  consumer.join();
  state.counters["ns/task"] = seconds * 1e9 / static_cast<double>(state.iterations() * kTasks);
}
void across(benchmark::State& state) { hand_over(state, Memory::heap); }
void across_malloc(benchmark::State& state) { hand_over(state, Memory::malloc); }
void across_handover(benchmark::State& state) { hand_over(state, Memory::none); }

/// Reclamation cost of a task annotated with a resource when nothing is removed.
void epoch_task(benchmark::State& state) {
  Epochs epochs({.members = 2});
  EpochMember& self = epochs.member(0);
  epochs.unpark(self);
  const std::int64_t batch = state.range(0);
  std::int64_t tasks = 0;
  for (auto _ : state) {
    const unsigned slot = self.birth_slot();
    self.count_created(slot);
    benchmark::ClobberMemory();
    self.count_finished(slot);
    if (++tasks == batch) {
      tasks = 0;
      epochs.refresh(self);
    }
  }
  epochs.park(self);
}

BENCHMARK(local)->Arg(1)->Arg(32)->Arg(500);
BENCHMARK(local_malloc)->Arg(1)->Arg(500);
BENCHMARK(burst)->Arg(1'000)->Arg(100'000);
BENCHMARK(across)->Iterations(2'000);
BENCHMARK(across_malloc)->Iterations(2'000);
BENCHMARK(across_handover)->Iterations(2'000);
BENCHMARK(epoch_task)->Arg(1)->Arg(50);

}  // namespace
