// Tasks of a thread outside arrive in the order of their creation, in every interleaving of two workers that
// empty the inbox; and a wrong protocol is caught. R9.
// SPDX-License-Identifier: MIT
#include "native/pool/inbox.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "native/pool/pool.hpp"
#include "tests/base/explorer.hpp"

namespace {

using namespace rubato::native;
using rubato::test::ExploredAtomics;
using rubato::test::Explorer;

constexpr unsigned kRank = 0;

struct Node {
  ExploredAtomics::atomic<Node*> next{nullptr};
  int number = 0;
};

template <class Rules>
struct Model {
  Pool<ExploredAtomics, Node> inbox;
  ReadySet<ExploredAtomics> ready{1};
  ExploredAtomics::atomic<bool> is_being_emptied{false};
  Node nodes[3];
  std::vector<int> arrived;

  void create() {
    for (int i = 0; i < 2; ++i) {
      nodes[i].number = i + 1;
      if (inbox.push(&nodes[i], &nodes[i])) ready.add(0, kRank);
    }
  }
  Emptied empty() {
    return empty_in_order<Rules>(inbox, ready, is_being_emptied, kRank, [this](const Node* node) {
      Explorer::step();
      arrived.push_back(node->number);
    });
  }
};

struct Outcome {
  std::uint64_t schedules = 0, wrong = 0, by_another = 0;
};
template <class Rules>
Outcome explore(bool stops_at_first) {
  Outcome outcome;
  std::unique_ptr<Model<Rules>> model;
  const auto work = [&] { outcome.by_another += model->empty() == Emptied::another_does ? 1 : 0; };
  outcome.schedules = Explorer::explore(
      [&] {
        model = std::make_unique<Model<Rules>>();
        return Explorer::Bodies{[&] { model->create(); }, work, work};
      },
      [&] {
        while (model->empty() != Emptied::nothing) {
        }
        outcome.wrong += model->arrived == std::vector<int>{1, 2} ? 0 : 1;
      },
      [&] { return stops_at_first && outcome.wrong != 0; });
  return outcome;
}

TEST(Inbox, TasksOfAThreadArriveInTheirOrder) {
  const Outcome outcome = explore<InboxRules>(false);
  EXPECT_EQ(outcome.wrong, 0u) << "of " << outcome.schedules;
  EXPECT_GT(outcome.by_another, 0u);
  EXPECT_GT(outcome.schedules, 1000u);
}

/// A thread creates tasks, another one creates tasks and empties the inbox, as run() does before it begins.
/// @returns in how many schedules it left one of its own there
template <class Rules>
std::uint64_t left_behind() {
  std::unique_ptr<Model<Rules>> model;
  bool has_created = false;
  std::uint64_t wrong = 0;
  Explorer::explore(
      [&] {
        model = std::make_unique<Model<Rules>>();
        has_created = false;
        return Explorer::Bodies{[&] {
                                  model->create();
                                  has_created = true;
                                },
                                [&] {
                                  Node& own = model->nodes[2];
                                  own.number = 3;
                                  if (model->inbox.push(&own, &own)) model->ready.add(0, kRank);
                                  empty_wholly<Rules>(
                                      model->inbox, [&] { return model->empty(); },
                                      [&] { Explorer::block([&] { return has_created; }); });
                                  wrong += std::ranges::count(model->arrived, 3) == 1 ? 0 : 1;
                                }};
      },
      [] {});
  EXPECT_EQ(Explorer::deadlocks(), 0u);
  return wrong;
}

struct TakesWhatIsReady : InboxRules {
  static constexpr bool kWaitsForPushes = false;
};
TEST(Inbox, IsEmptiedWhollyThoughAPushIsUnderWay) {
  EXPECT_EQ(left_behind<InboxRules>(), 0u);
  EXPECT_NE(left_behind<TakesWhatIsReady>(), 0u);
}

struct SeveralAtATime : InboxRules {
  static constexpr bool kOneAtATime = false;
};
TEST(Inbox, OfAWrongProtocolIsCaught) { EXPECT_NE(explore<SeveralAtATime>(true).wrong, 0u); }

}  // namespace
