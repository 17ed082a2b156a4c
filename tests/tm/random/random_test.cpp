// Random transactions in threads: what committed, run again one after another in the order of its tickets on
// a model, loads the same values and leaves the same memory; and no attempt, undone ones included, saw what
// was never there together (T52). RUBATO_SEEDS says how many programs; the environment chooses the
// algorithm.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "../by_hand.hpp"
#include "program.hpp"

extern "C" {
void* _ITM_malloc(std::size_t);
void _ITM_free(void*);
}

namespace tm_random {
namespace {

std::atomic<std::uint64_t> inconsistent{0};

/// By the library's barriers.
struct LibraryAccess {
  template <class T>
  T load(const void* p) {
    if constexpr (sizeof(T) == 1) {
      return _ITM_RU1(static_cast<const T*>(p));
    } else if constexpr (sizeof(T) == 2) {
      return _ITM_RU2(static_cast<const T*>(p));
    } else if constexpr (sizeof(T) == 4) {
      return _ITM_RU4(static_cast<const T*>(p));
    } else {
      return _ITM_RU8(static_cast<const T*>(p));
    }
  }
  template <class T>
  void store(void* p, T value) {
    if constexpr (sizeof(T) == 1) {
      _ITM_WU1(static_cast<T*>(p), value);
    } else if constexpr (sizeof(T) == 2) {
      _ITM_WU2(static_cast<T*>(p), value);
    } else if constexpr (sizeof(T) == 4) {
      _ITM_WU4(static_cast<T*>(p), value);
      _ITM_WaWU4(static_cast<T*>(p), value);
    } else {
      _ITM_RfWU8(static_cast<T*>(p));
      _ITM_WaWU8(static_cast<T*>(p), value);
    }
  }
  void require(bool condition) {
    if (!condition) inconsistent.fetch_add(1);
  }
  void copy(void* to, const void* from, std::size_t bytes) { _ITM_memmoveRtWt(to, from, bytes); }
  void fill(void* to, int byte, std::size_t bytes) { _ITM_memsetW(to, byte, bytes); }

  std::uint64_t read_node(Node** place) {
    Node* const node = reinterpret_cast<Node*>(_ITM_RU8(reinterpret_cast<std::uint64_t*>(place)));
    if (node == nullptr) return 0;
    const std::uint64_t value = _ITM_RU8(&node->value);
    require(_ITM_RU8(&node->inverse) == ~value);
    return value;
  }
  void replace_node(Node** place, std::uint64_t value) {
    auto* const made = static_cast<Node*>(_ITM_malloc(sizeof(Node)));
    made->value = value;  // not yet shared
    made->inverse = ~value;
    auto* const old = reinterpret_cast<Node*>(_ITM_RfWU8(reinterpret_cast<std::uint64_t*>(place)));
    _ITM_WaWU8(reinterpret_cast<std::uint64_t*>(place), reinterpret_cast<std::uint64_t>(made));
    _ITM_free(old);
  }
  template <class F>
  void nested(F run, bool is_cancelled) {
    if ((_ITM_beginTransaction(is_cancelled ? by_hand::kMayCancel : 0x29) & by_hand::kCancelled) != 0) return;
    run();
    if (is_cancelled) _ITM_abortTransaction(1);
    _ITM_commitTransaction();
  }
};

/// Plain, with a copy of everything for cancels.
struct ModelAccess {
  Memory& memory;
  std::map<Node**, std::uint64_t> nodes{};

  template <class T>
  T load(const void* p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
  }
  template <class T>
  void store(void* p, T value) {
    std::memcpy(p, &value, sizeof value);
  }
  void require(bool) {}
  void copy(void* to, const void* from, std::size_t bytes) { std::memmove(to, from, bytes); }
  void fill(void* to, int byte, std::size_t bytes) { std::memset(to, byte, bytes); }
  std::uint64_t read_node(Node** place) { return nodes[place]; }
  void replace_node(Node** place, std::uint64_t value) { nodes[place] = value; }
  template <class F>
  void nested(F run, bool is_cancelled) {
    const Memory before = memory;
    const auto nodes_before = nodes;
    run();
    if (is_cancelled) memory = before, nodes = nodes_before;
  }
};

__attribute__((noinline)) void run_one(Memory& memory, const Plan& plan, Record& record) {
  record.seed = plan.seed;
  record.is_cancelled = plan.is_cancelled;
  const std::uint32_t properties = plan.is_cancelled ? 0x21 : plan.is_irrevocable ? 0x9 : 0x29;
  if ((_ITM_beginTransaction(properties) & by_hand::kCancelled) != 0) return;
  LibraryAccess access;
  if (plan.is_irrevocable && plan.seed % 3 == 0) _ITM_changeTransactionMode(0);
  Interpreter(access, memory, plan).run(record);
  if (plan.is_cancelled) _ITM_abortTransaction(1);
  if (plan.is_irrevocable && plan.seed % 3 != 0) _ITM_changeTransactionMode(0);
  _ITM_commitTransaction();
}

/// An order that agrees with every thread's own and with the tickets; empty if there is none.
std::vector<const Record*> order(const std::vector<std::vector<Record>>& threads) {
  std::vector<const Record*> nodes;
  std::map<const Record*, std::vector<const Record*>> after;
  std::map<const Record*, int> before;
  std::array<std::map<std::uint64_t, const Record*>, kPartitions> updates;
  const auto edge = [&](const Record* a, const Record* b) { after[a].push_back(b), ++before[b]; };
  for (const auto& thread : threads) {
    for (std::size_t i = 0; i < thread.size(); ++i) {
      const Record& record = thread[i];
      nodes.push_back(&record);
      if (i > 0) edge(&thread[i - 1], &record);
      const Plan plan(record.seed);
      for (int p = 0; p < kPartitions && plan.is_update; ++p) {
        if ((plan.partitions >> p & 1) != 0 && !updates[p].emplace(record.tickets[p], &record).second)
          return {};
      }
    }
  }
  for (const Record* record : nodes) {
    const Plan plan(record->seed);
    for (int p = 0; p < kPartitions; ++p) {
      if ((plan.partitions >> p & 1) == 0) continue;
      const std::uint64_t ticket = record->tickets[p];
      const auto previous = updates[p].find(plan.is_update ? ticket - 1 : ticket);
      const auto next = updates[p].find(ticket + 1);
      if (previous != updates[p].end()) edge(previous->second, record);
      if (next != updates[p].end() && !plan.is_update) edge(record, next->second);
    }
  }
  std::vector<const Record*> sorted, ready;
  for (const Record* record : nodes) {
    if (before[record] == 0) ready.push_back(record);
  }
  while (!ready.empty()) {
    const Record* const record = ready.back();
    ready.pop_back();
    sorted.push_back(record);
    for (const Record* next : after[record]) {
      if (--before[next] == 0) ready.push_back(next);
    }
  }
  return sorted.size() == nodes.size() ? sorted : std::vector<const Record*>{};
}

int seeds() {
  const char* const value = std::getenv("RUBATO_SEEDS");
  return value != nullptr ? std::atoi(value) : 60;
}

enum class Place { heap, stack_of_the_first };

void run_programs(int threads, int transactions, Place place = Place::heap) {
  const bool is_shown = std::getenv("RUBATO_SHOWS_SEEDS") != nullptr;  // to who waits for a sign of life
  for (int seed = 1; seed <= seeds(); ++seed) {
    if (is_shown) std::printf("seed %d\n", seed), std::fflush(stdout);
    Memory on_stack{};
    const auto on_heap = std::make_unique<Memory>();
    Memory& memory = place == Place::heap ? *on_heap : on_stack;
    inconsistent = 0;
    std::vector<std::vector<Record>> records(threads);
    std::vector<std::thread> all;
    const auto run = [&](int t) {
      rubato::Rng rng(static_cast<std::uint64_t>(seed) * 1000 + t);
      for (int i = 0; i < transactions; ++i) {
        const Plan plan(rng.below(std::uint64_t{1} << 60));
        Record record;
        run_one(memory, plan, record);
        if (!record.is_cancelled) records[t].push_back(record);
      }
    };
    for (int t = place == Place::heap ? 0 : 1; t < threads; ++t) all.emplace_back(run, t);
    if (place == Place::stack_of_the_first) run(0);
    for (std::thread& thread : all) thread.join();
    ASSERT_EQ(inconsistent, 0u) << "an attempt saw halves that were never together; seed " << seed;

    const auto sorted = order(records);
    ASSERT_FALSE(sorted.empty()) << "no serial order; seed " << seed;
    auto model = std::make_unique<Memory>();
    ModelAccess access{*model};
    for (const Record* record : sorted) {
      Record again;
      Interpreter(access, *model, Plan(record->seed)).run(again);
      ASSERT_EQ(again.loads, record->loads) << "seed " << seed;
      ASSERT_EQ(again.tickets, record->tickets) << "seed " << seed;
    }
    for (int p = 0; p < kPartitions; ++p) {
      ASSERT_EQ((*model)[p].bytes, memory[p].bytes) << "seed " << seed;
      ASSERT_EQ((*model)[p].left, memory[p].left) << "seed " << seed;
      Node* const node = memory[p].node;
      ASSERT_EQ(node != nullptr ? node->value : 0, access.nodes[&(*model)[p].node]) << "seed " << seed;
      std::free(node);
    }
  }
}

TEST(RandomTransactions, OfOneThreadAgreeWithTheModel) { run_programs(1, 200); }
TEST(RandomTransactions, OfTwoThreadsAreSerializable) { run_programs(2, 150); }
TEST(RandomTransactions, OfEightThreadsAreSerializable) { run_programs(8, 50); }

// The first thread's stores are in place, by every algorithm (T26).
TEST(RandomTransactions, OnItsOwnStackOfOneThreadAgreeWithTheModel) {
  run_programs(1, 200, Place::stack_of_the_first);
}
TEST(RandomTransactions, OnTheStackOfOneOfThreeThreadsAreSerializable) {
  run_programs(3, 80, Place::stack_of_the_first);
}

}  // namespace
}  // namespace tm_random
