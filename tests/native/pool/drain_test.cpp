// Pool::drain(): every task is handed on once, whatever is pushed meanwhile. R2 and R10.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <utility>
#include <vector>

#include "native/pool/pool.hpp"

namespace {

using rubato::native::Drained;

/// Hook between the exchange of a push and its link.
std::function<void()> between;

struct HookedAtomics {
  template <class T>
  struct atomic : std::atomic<T> {
    using std::atomic<T>::atomic;
    T exchange(T value, std::memory_order order) {
      const T before = std::atomic<T>::exchange(value, order);
      if (const auto act = std::exchange(between, nullptr)) act();
      return before;
    }
  };
};
struct Node {
  HookedAtomics::atomic<Node*> next{nullptr};
};

struct Draining {
  rubato::native::Pool<HookedAtomics, Node> pool;
  Node nodes[4];
  std::vector<int> seen;

  bool push(int node) { return pool.push(&nodes[node], &nodes[node]); }
  Drained try_drain(const std::function<void()>& act = {}) {
    return pool.drain([&](Node* node) {
      seen.push_back(static_cast<int>(node - nodes));
      if (act) act();
    });
  }
  bool drain() { return try_drain() == Drained::all; }
};

TEST(Drain, HandsOnWhatIsLinked) {
  Draining d;
  ASSERT_TRUE(d.push(0));
  ASSERT_FALSE(d.push(1));
  EXPECT_TRUE(d.drain());
  EXPECT_EQ(d.seen, (std::vector<int>{0, 1}));
  EXPECT_TRUE(d.push(2)) << "it was empty";
  EXPECT_TRUE(d.drain());
  EXPECT_EQ(d.seen, (std::vector<int>{0, 1, 2}));
}

TEST(Drain, KeepsTheTaskThatAHalfLinkedPushComesBehind) {
  Draining d;
  ASSERT_TRUE(d.push(0));
  between = [&d] {
    EXPECT_FALSE(d.drain());
    EXPECT_FALSE(d.drain()) << "nothing has changed";
    EXPECT_EQ(d.seen, std::vector<int>{}) << "the push will still write to it";
  };
  ASSERT_FALSE(d.push(1));
  EXPECT_FALSE(d.drain());
  EXPECT_EQ(d.seen, std::vector<int>{0});
  EXPECT_TRUE(d.drain());
  EXPECT_EQ(d.seen, (std::vector<int>{0, 1}));
}

/// Another thread may push without end.
TEST(Drain, LeavesWhatIsPushedMeanwhile) {
  Draining d;
  ASSERT_TRUE(d.push(0));
  ASSERT_FALSE(d.push(1));
  int pushed = 2;
  const auto push_another = [&] {
    if (pushed < 4) {
      EXPECT_FALSE(d.push(pushed++));
    }
  };
  EXPECT_EQ(d.try_drain(push_another), Drained::all_but_newer);
  EXPECT_EQ(d.seen, (std::vector<int>{0, 1}));
  EXPECT_TRUE(d.drain());
  EXPECT_EQ(d.seen, (std::vector<int>{0, 1, 2, 3}));
}

}  // namespace
