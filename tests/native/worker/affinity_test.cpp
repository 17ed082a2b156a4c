// Workers without CPUs of their own may use all that the process may, whatever the thread that calls run() is
// bound to; and tasks run where .core and .numa say. R3.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "native/topology/topology.hpp"
#include "native/worker/shared.hpp"
#include "rubato/per_worker.hpp"
#include "rubato/rubato.hpp"
#include "tests/native/seen_affinity.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

TEST(Affinity, OfTheCallerIsNotThatOfOtherWorkers) {
  const std::vector<unsigned> all = native::current_affinity();
  if (all.size() < 2) GTEST_SKIP() << "one CPU only";
  const std::uint32_t workers = static_cast<std::uint32_t>(all.size()) + 1;  // no CPU each
  seen.clear();
  use_workers(workers);
  const std::vector<unsigned> bound{all.back()};
  std::jthread([&] {
    ASSERT_TRUE(native::pin_this_thread(bound.front()));
    for (std::uint32_t w = 0; w < workers; ++w) create<nonspec>(note_affinity, {.core = w});
    run();
    EXPECT_THAT(seen[std::this_thread::get_id()], ::testing::ElementsAre(bound)) << "is left alone";
    seen.erase(std::this_thread::get_id());
  }).join();
  EXPECT_EQ(seen.size(), workers - 1);
  for (const auto& [thread, affinities] : seen) EXPECT_THAT(affinities, ::testing::ElementsAre(all));
}

TEST(Affinity, OfATaskBehindAGroupIsItsOwn) {
  use_workers(4);
  for (std::uint32_t core = 0; core < 4; ++core) {
    TaskGroup group;
    std::atomic<int> right{0};
    for (std::uint32_t member = 0; member < 2; ++member)
      create<nonspec>([] {}, {.group = &group, .core = (core + 1) % 4});
    for (int i = 0; i < 3; ++i)
      create<nonspec>([&right, core] { right += worker_number() == core ? 1 : 0; },
                      {.after = &group, .core = core});
    run();
    EXPECT_EQ(right, 3) << core;
  }
}

/// The machine of the engine with a node for each CPU and no quota, while this object lives.
class NodeForEachCpu {
 public:
  NodeForEachCpu() {
    for (unsigned i = 0; i < machine_.allowed.size(); ++i) machine_.allowed[i].node = i;
    machine_.quota.reset();
  }
  ~NodeForEachCpu() { machine_ = before_; }
  NodeForEachCpu(const NodeForEachCpu&) = delete;
  NodeForEachCpu& operator=(const NodeForEachCpu&) = delete;
  unsigned nodes() const { return static_cast<unsigned>(machine_.allowed.size()); }

 private:
  native::Topology& machine_ = const_cast<native::Topology&>(native::Shared::machine());
  const native::Topology before_ = machine_;
};

/// Tasks that name a node, and those of them that ran on its worker.
unsigned on_their_nodes(unsigned nodes) {
  std::atomic<unsigned> right{0};
  for (std::uint32_t node = 0; node < nodes; ++node) {
    TaskGroup group;
    for (int i = 0; i < 20; ++i)
      create<nonspec>([&right, node] { right += worker_number() == node ? 1 : 0; },
                      {.group = &group, .numa = node});
    create<nonspec>([&right, node] { right += worker_number() == node ? 1 : 0; },
                    {.after = &group, .numa = node});
    run();
  }
  return right;
}

TEST(Affinity, OfATaskIsTheNodeThatItNames) {
  const NodeForEachCpu machine;
  if (machine.nodes() < 2) GTEST_SKIP() << "one CPU only";
  use_workers(machine.nodes());
  EXPECT_EQ(on_their_nodes(machine.nodes()), 21 * machine.nodes());
}

TEST(Affinity, OfATaskIsItsCoreWhereItNamesBoth) {
  const NodeForEachCpu machine;
  if (machine.nodes() < 2) GTEST_SKIP() << "one CPU only";
  use_workers(machine.nodes());
  std::atomic<int> right{0};
  for (int i = 0; i < 20; ++i)
    create<nonspec>([&right] { right += worker_number() == 1u ? 1 : 0; }, {.core = 1, .numa = 0});
  run();
  EXPECT_EQ(right, 20);
}

void expect_to_run_on_missing_nodes() {
  std::atomic<int> ran{0};
  for (std::uint32_t node : {0u, 1u, 77u, 0x7fffffffu, 0x80000001u, ~0u}) {
    for (const std::optional<Locale> locale : {std::optional<Locale>(), std::optional<Locale>(7)})
      create<nonspec>([&] { ++ran; }, {.on = locale, .numa = node});
  }
  for (std::uint32_t core : {2u, 77u, 0x7fffffffu, 0x80000001u, ~0u})
    create<nonspec>([&] { ++ran; }, {.on = 7, .core = core});
  run();
  EXPECT_EQ(ran, 17);
}

TEST(Affinity, OfATaskOnANodeThatIsNotThereIsAny) {
  use_workers(2);
  expect_to_run_on_missing_nodes();
  const NodeForEachCpu machine;
  if (machine.nodes() != 2) GTEST_SKIP() << "not two CPUs";
  use_workers(2);
  expect_to_run_on_missing_nodes();
}

}  // namespace
