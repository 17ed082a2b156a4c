// Muting, in every interleaving: no sender waits for ever, and none goes on twice. The same with one fault at
// a time, which must be found. A18.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <new>
#include <string>

#include "actors/muting.hpp"
#include "tests/base/explorer.hpp"

namespace {

using rubato::engine::Muting;
using rubato::engine::MutingRules;
using rubato::test::ExploredAtomics;
using rubato::test::Explorer;

using Word = ExploredAtomics::atomic<std::uint32_t>;
constexpr auto kOrder = std::memory_order_seq_cst;

struct Platform {
  template <class T>
  using atomic = ExploredAtomics::atomic<T>;
  class mutex {
   public:
    void lock() {
      while (taken_.exchange(1, kOrder) != 0) ExploredAtomics::wait(taken_, 1);
    }
    void unlock() {
      taken_.store(0, kOrder);
      ExploredAtomics::wake(taken_, 1);
    }

   private:
    Word taken_{0};
  };
};

/// A count that threads wait for.
class Events {
 public:
  void add() {
    count_.fetch_add(1, kOrder);
    ExploredAtomics::wake(count_, 8);
  }
  /// Until there were so many.
  void await(std::uint32_t number) {
    for (;;) {
      const std::uint32_t count = count_.load(kOrder);
      if (count >= number) return;
      ExploredAtomics::wait(count_, count);
    }
  }
  std::uint32_t now() const { return count_.now(); }

 private:
  Word count_{0};
};

/// Two actors, 1 and 2, on a thread each.
template <class Rules>
struct Model {
  struct Actor {
    Muting<Platform, Rules> bound;
    Events arrived, resumed;
    Word is_alive{1};
    std::uint32_t handled = 0, waits = 0;  // of its own thread
  };

  explicit Model(std::uint32_t capacity) {
    for (Actor& a : actors) {
      a.bound.begin(capacity);
      Explorer::add_variable(&a.bound.muted(), [&a] {
        std::uint64_t hash = 0;
        for (const std::uint64_t actor : a.bound.muted()) hash = 31 * hash + actor;
        return hash;
      });
    }
  }
  Actor& of(std::uint64_t actor) { return actors[actor - 1]; }
  auto resume() {
    return [this](std::uint64_t actor) { of(actor).resumed.add(); };
  }

  /// As in admit() and the end of a turn. @param own  whether the sender has a bound, too
  void send(std::uint64_t self, std::uint64_t to, bool own) {
    Actor& receiver = of(to);
    if (receiver.is_alive.load(kOrder) == 0) return;
    const std::uint32_t before = receiver.bound.come();
    receiver.arrived.add();
    if (before < receiver.bound.capacity.now()) return;
    const auto is_alive = [&receiver] { return receiver.is_alive.load(kOrder) != 0; };
    Actor& sender = of(self);
    if (receiver.bound.wait(self, own ? &sender.bound : nullptr, is_alive))
      sender.resumed.await(++sender.waits);
  }
  void handle_next(std::uint64_t self) {
    Actor& a = of(self);
    a.arrived.await(++a.handled);
    a.bound.go(resume());
  }

  void check(std::string& failure) {
    for (const Actor& a : actors) {
      if (a.resumed.now() != a.waits) failure = "a sender goes on twice";
    }
  }

  Actor actors[2];
  Events decided;
};

enum class Scene : std::uint8_t { room, failure, cycle, end };

template <class Rules>
Explorer::Bodies bodies_of(Scene scene, Model<Rules>& m) {
  const auto send_three = [&m](bool own) {
    for (int i = 0; i < 3; ++i) m.send(1, 2, own);
  };
  switch (scene) {
    case Scene::room:
      return {[=] { send_three(false); },
              [&m] {
                for (int i = 0; i < 3; ++i) m.handle_next(2);
              }};
    case Scene::failure:  // 1 is the parent of 2, and decides when it has sent all
      return {[=, &m] {
                send_three(false);
                m.decided.add();
              },
              [&m] {
                m.handle_next(2);
                m.of(2).bound.set_failed(true, m.resume());
                m.decided.await(1);
                m.of(2).bound.set_failed(false, m.resume());
                for (int i = 0; i < 2; ++i) m.handle_next(2);
              }};
    case Scene::cycle: {
      const auto play = [&m](std::uint64_t self, std::uint64_t other) {
        for (int i = 0; i < 2; ++i) m.send(self, other, true);
        for (int i = 0; i < 2; ++i) m.handle_next(self);
      };
      return {[=] { play(1, 2); }, [=] { play(2, 1); }};
    }
    case Scene::end:
      return {[=] { send_three(false); },
              [&m] {
                m.handle_next(2);
                m.of(2).is_alive.store(0, kOrder);
                m.of(2).bound.release(m.resume());
              }};
  }
  return {};
}

struct Outcome {
  std::string failure;
  std::uint64_t states = 0;
};

template <class Rules>
Outcome explore(Scene scene, std::uint32_t capacity = 1) {
  alignas(Model<Rules>) static unsigned char place[sizeof(Model<Rules>)];  // one address for all runs
  Model<Rules>* model = nullptr;
  Outcome outcome;
  const Explorer::Result result = Explorer::explore_states(
      [&] {
        if (model != nullptr) model->~Model<Rules>();
        model = ::new (static_cast<void*>(place)) Model<Rules>(capacity);
        return bodies_of(scene, *model);
      },
      [&](bool is_stuck) {
        if (is_stuck) {
          outcome.failure = "somebody waits for ever";
        } else {
          model->check(outcome.failure);
        }
        return outcome.failure.empty();
      });
  model->~Model<Rules>();
  if (outcome.failure.empty() && !result.is_exhausted) outcome.failure = "not all interleavings were seen";
  outcome.states = result.states;
  return outcome;
}

constexpr Scene kScenes[] = {Scene::room, Scene::failure, Scene::cycle, Scene::end};

TEST(Native_Muting, NobodyWaitsForEverOrGoesOnTwice) {
  for (const Scene scene : kScenes) {
    for (const std::uint32_t capacity : {1u, 2u}) {
      const Outcome outcome = explore<MutingRules>(scene, capacity);
      EXPECT_EQ(outcome.failure, "") << "scene " << static_cast<int>(scene) << ", capacity " << capacity;
      EXPECT_GT(outcome.states, 100u);
    }
  }
}

struct NeverLooks : MutingRules {
  static constexpr bool kLooksAfterListing = false;
};
struct LooksForMutedFirst : MutingRules {
  static constexpr bool kLooksForMutedAfterRoom = false;
};
struct LoadedWaits : MutingRules {
  static constexpr bool kLoadedGoesOn = false;
};
struct FailedIsFull : MutingRules {
  static constexpr bool kFailedHasRoom = false;
};
TEST(Native_Muting, MutantsAreFound) {
  const std::string waits = "somebody waits for ever";
  EXPECT_EQ(explore<NeverLooks>(Scene::room).failure, waits);
  EXPECT_EQ(explore<NeverLooks>(Scene::end).failure, waits);
  EXPECT_EQ(explore<LooksForMutedFirst>(Scene::room).failure, waits);
  EXPECT_EQ(explore<LoadedWaits>(Scene::cycle).failure, waits);
  EXPECT_EQ(explore<FailedIsFull>(Scene::failure).failure, waits);
}

}  // namespace
