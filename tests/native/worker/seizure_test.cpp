// The protocol by which the watch takes tasks of a worker that is in a task, in every interleaving, and that
// a wrong one is caught. R2 and R10.
// SPDX-License-Identifier: MIT
#include "native/worker/seizure.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "rubato/engine/native_task.hpp"
#include "tests/base/explorer.hpp"

namespace {

using namespace rubato::native;
using rubato::engine::ListOf;
using rubato::test::ExploredAtomics;
using rubato::test::Explorer;

unsigned letting_go = 0;

/// Sequentially consistent as the explorer is: the barrier does nothing.
struct Atomics {
  template <class T>
  struct atomic : ExploredAtomics::atomic<T> {
    using Base = ExploredAtomics::atomic<T>;
    using Base::Base;
    T fetch_and(T value, std::memory_order order) {
      const T before = Base::fetch_and(value, order);
      ++letting_go;
      return before;
    }
  };
  static void barrier() {}
  static void yield() {
    Explorer::block([before = letting_go] { return letting_go != before; });
  }
};

struct Node {
  ExploredAtomics::atomic<Node*> next{nullptr};
  int work = 0;  // 0: a husk
};

/// A worker whose task creates two others, while one that it created before waits.
template <class Rules>
struct Model {
  ExploredAtomics::atomic<std::uint32_t> running{0};
  Seizure<Atomics, Rules> seizure;
  ListOf<Node, ExploredAtomics::atomic> list;
  Node nodes[3];
  std::vector<int> done = std::vector<int>(4);
  unsigned users = 0;
  bool is_violated = false, has_been_seized = false;

  void use_lists(const std::function<void()>& use) {
    is_violated |= ++users > 1;
    Explorer::step();
    use();
    --users;
  }
  void create(int node) {
    nodes[node].work = node + 1;
    list.append(&nodes[node]);
  }
  void work() {
    create(0);
    running.store(1, std::memory_order_release);
    create(1);
    {
      const typename Seizure<Atomics, Rules>::Inside inside(seizure);
      use_lists([] {});
    }
    create(2);
    running.store(0, std::memory_order_relaxed);
    if (seizure.is_wanted()) seizure.wait_until_let_go();
    use_lists([this] {
      while (!list.is_empty()) ++done[static_cast<std::size_t>(list.take()->work)];
    });
  }
  void take() {
    if (!seizure.seize([this] { return running.load(std::memory_order_acquire) != 0; })) return;
    has_been_seized = true;
    use_lists([this] {
      while (Node* const node = list.take_settled()) ++done[static_cast<std::size_t>(node->work)];
      if (Node* const last = list.first_seen()) {
        ++done[static_cast<std::size_t>(last->work)];
        last->work = 0;
      }
    });
    seizure.let_go();
  }
  bool is_right() const { return !is_violated && users == 0 && done[1] == 1 && done[2] == 1 && done[3] == 1; }
};

struct Outcome {
  std::uint64_t schedules = 0, wrong = 0, seized = 0, deadlocks = 0;
};
template <class Rules>
Outcome explore(bool stops_at_first) {
  Outcome outcome;
  std::unique_ptr<Model<Rules>> model;
  outcome.schedules = Explorer::explore(
      [&] {
        model = std::make_unique<Model<Rules>>();
        return Explorer::Bodies{[&] { model->work(); }, [&] { model->take(); }};
      },
      [&] {
        outcome.wrong += model->is_right() ? 0 : 1;
        outcome.seized += model->has_been_seized ? 1 : 0;
      },
      [&] { return stops_at_first && outcome.wrong != 0; });
  outcome.deadlocks = Explorer::deadlocks();
  return outcome;
}

TEST(Seizure, TakesEachTaskOnceInEveryInterleaving) {
  const Outcome outcome = explore<SeizureRules>(false);
  EXPECT_EQ(outcome.wrong, 0u) << "of " << outcome.schedules;
  EXPECT_EQ(outcome.deadlocks, 0u);
  EXPECT_GT(outcome.seized, 100u);
  EXPECT_GT(outcome.schedules, outcome.seized);
}

struct WorkerDoesNotLook : SeizureRules {
  static constexpr bool kWorkerLooks = false;
};
struct ForgetsTheTask : SeizureRules {
  static constexpr bool kLooksForTask = false;
};
struct ForgetsInside : SeizureRules {
  static constexpr bool kLooksForInside = false;
};

TEST(Seizure, OfAWrongProtocolIsCaught) {
  EXPECT_NE(explore<WorkerDoesNotLook>(true).wrong, 0u);
  EXPECT_NE(explore<ForgetsTheTask>(true).wrong, 0u);
  EXPECT_NE(explore<ForgetsInside>(true).wrong, 0u);
}

}  // namespace
