// The two lanes of an actor with urgent messages, in every interleaving of its senders and its turns. The
// same with one fault at a time, which must be found. A22 and A35.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "native/actor/lanes.hpp"
#include "native/pool/pool.hpp"
#include "tests/base/explorer.hpp"

namespace {

using namespace rubato::native;
using rubato::test::ExploredAtomics;
using rubato::test::Explorer;

struct Message {
  ExploredAtomics::atomic<Message*> next{nullptr};
  bool is_urgent = false;
  int sender = 0;
  int number = 0;
  int handled = 0;
  bool is_high() const { return is_urgent; }
};

/// Senders, each of which sends one message for each letter: H urgent, N not. A sender that finds the mailbox
/// empty runs the actor's turn at once.
template <class Rules>
struct Model {
  static constexpr int kMost = 3;

  explicit Model(const std::vector<std::string>& letters) : senders(letters) {
    Explorer::add_plain(mailbox);
    Explorer::add_plain(lanes);
    Explorer::add_plain(inside);
    Explorer::add_plain(last);
    // A failed state is never taken for a state that was seen before.
    Explorer::add_variable(&failure, [this] { return failure.empty() ? 0u : 1u; });
    for (std::size_t s = 0; s < senders.size(); ++s) {
      for (std::size_t i = 0; i < senders[s].size(); ++i) {
        messages[s][i].is_urgent = senders[s][i] == 'H';
        messages[s][i].sender = static_cast<int>(s);
        messages[s][i].number = static_cast<int>(i) + 1;
        Explorer::add_plain(messages[s][i].handled);
      }
    }
  }

  void send_all(std::size_t sender) {
    for (std::size_t i = 0; i < senders[sender].size(); ++i) {
      Message& message = messages[sender][i];
      const std::uint64_t place = 8 * sender + i;
      Explorer::forget(place);
      if (mailbox.push(&message, &message)) run_turn(place | 64);
    }
  }

  void run_turn(std::uint64_t place) {
    while (failure.empty()) {  // after one, nothing need come to an end
      Explorer::forget(place);
      if (++inside != 1) failure = "two turns of an actor at once";
      sort_into_lanes<Rules>(mailbox, lanes, [](Message*) {});
      const FromLanes<Message> taken = take_from_lanes(lanes);
      if (taken.node != nullptr) handle(*taken.node);
      Explorer::step();
      --inside;
      if (taken.node == nullptr && mailbox.finish().is_empty) return;
    }
  }

  void handle(Message& message) {
    ++message.handled;
    int& before = last[message.sender][message.is_urgent ? 1 : 0];
    if (message.number <= before) failure = "messages of one sender and lane overtake each other";
    before = message.number;
  }

  void check() {
    for (std::size_t s = 0; s < senders.size(); ++s) {
      for (std::size_t i = 0; i < senders[s].size(); ++i) {
        if (messages[s][i].handled == 0 && failure.empty()) failure = "a message is lost";
        if (messages[s][i].handled > 1) failure = "a message is handled twice";
      }
    }
  }

  std::vector<std::string> senders;
  Pool<ExploredAtomics, Message> mailbox;
  rubato::engine::BasicLanes<Message> lanes;
  Message messages[3][kMost];
  int last[3][2] = {};
  int inside = 0;
  std::string failure;
};

template <class Rules>
std::string explore(const std::vector<std::string>& senders, std::uint64_t& states) {
  alignas(Model<Rules>) static unsigned char place[sizeof(Model<Rules>)];  // one address for all runs
  Model<Rules>* model = nullptr;
  std::string failure;
  const Explorer::Result result = Explorer::explore_states(
      [&] {
        if (model != nullptr) model->~Model<Rules>();
        model = ::new (static_cast<void*>(place)) Model<Rules>(senders);
        Explorer::Bodies bodies;
        for (std::size_t s = 0; s < senders.size(); ++s)
          bodies.push_back([&model, s] { model->send_all(s); });
        return bodies;
      },
      [&](bool is_stuck) {
        model->check();
        failure = is_stuck ? "somebody sleeps" : model->failure;
        return failure.empty();
      });
  model->~Model<Rules>();
  if (failure.empty() && !result.is_exhausted) failure = "not all interleavings were seen";
  states = result.states;
  return failure;
}

TEST(Native_Lanes, HandleEachMessageOnceAndInOrder) {
  for (const std::vector<std::string>& senders :
       std::vector<std::vector<std::string>>{{"NHN", "HN"}, {"HHH", "NN"}, {"NH", "H", "N"}}) {
    std::uint64_t states = 0;
    EXPECT_EQ(explore<LaneRules>(senders, states), "") << senders[0];
    EXPECT_GT(states, 500u);
  }
}

struct LosesReleased : LaneRules {
  static constexpr bool kKeepsReleasedUnhandled = false;
};
struct FinishesAlways : LaneRules {
  static constexpr bool kFinishesOnlyForMore = false;
};
TEST(Native_Lanes, MutantsAreFound) {
  std::uint64_t states = 0;
  EXPECT_EQ(explore<LosesReleased>({"NHN", "HN"}, states), "a message is lost");
  EXPECT_NE(explore<FinishesAlways>({"NHN", "HN"}, states), "");
}

struct Plain {
  std::atomic<Plain*> next{nullptr};
  bool is_high() const { return false; }
};
/// A mailbox whose senders never pause.
struct Endless {
  struct Taken {
    Plain* node;
    bool is_last;
  };
  struct Finished {
    Plain* released;
  };
  Taken take() {
    if (taken == messages.size()) throw std::length_error("taken without end");
    return {&messages[taken++], false};
  }
  bool has_more() const { return true; }
  Finished finish() { return {nullptr}; }
  std::vector<Plain> messages{2 * kMostSorted};
  std::size_t taken = 0;
};
TEST(Native_Lanes, SortManyMessagesButNotWithoutEnd) {
  Endless mailbox;
  rubato::engine::BasicLanes<Plain> lanes;
  EXPECT_NO_THROW(sort_into_lanes(mailbox, lanes, [](Plain*) {}));
  EXPECT_EQ(mailbox.taken, kMostSorted);
  EXPECT_EQ(take_from_lanes(lanes).node, &mailbox.messages[0]);
}

}  // namespace
