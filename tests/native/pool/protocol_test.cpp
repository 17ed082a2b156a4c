// R2 and R10: the protocol of pools, ready sets, parking and termination, in every interleaving of
// three threads; and the same with one thing wrong at a time, which must be found.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>
#include <new>
#include <string>

#include "native/pool/pool.hpp"
#include "native/pool/ready_set.hpp"
#include "native/worker/event_count.hpp"
#include "native/worker/termination.hpp"
#include "tests/base/explorer.hpp"

namespace {

using namespace rubato::native;
using rubato::test::ExploredAtomics;
using rubato::test::Explorer;

template <class T>
using Explored = ExploredAtomics::atomic<T>;

struct Node {
  Explored<Node*> next{nullptr};
  int runs = 0;
};

/// Steps of a correct worker, beside PoolRules and EventCountRules.
struct WorkerRules {
  static constexpr bool kRechecksBeforeSleep = true;
  static constexpr bool kEndsOnlyWhenAllAreIdle = true;
  static constexpr bool kNotifies = true;
  /// As an actor's turn that lags: it looks whether more is linked behind the last task, before it
  /// gives the pool up as without that.
  static constexpr bool kLags = false;
  static constexpr bool kFinishesAfterLag = true;
  using PoolRules = rubato::native::PoolRules;
  /// A notify() that need not wake a worker leaves none asleep: explored by itself, in the section Requests,
  /// since there are too many states for both.
  struct EventCountRules : rubato::native::EventCountRules {
    static constexpr bool kCountsSleepers = false;
  };
  /// The same for the count, of termination_test.cpp: here the sums are read in one step.
  struct RunEndRules : rubato::native::RunEndRules {
    static constexpr bool kCountsIdleEnds = false;
  };
};

/// Two workers, another thread, and one pool. Worker 0 begins with a task that pushes `pushes[0]` tasks to
/// the pool; then both look for work, steal the pool, park, and end the run. The other thread pushes
/// `pushes[1]` tasks, which are counted as created from the start: the run cannot end without them.
template <class Rules>
struct Model {
  using ModelPool = Pool<ExploredAtomics, Node, typename Rules::PoolRules>;
  using Events = EventCount<ExploredAtomics, typename Rules::EventCountRules>;
  static constexpr unsigned kWorkers = 2;

  explicit Model(std::array<unsigned, 2> p) : pushes(p) {
    counters[1].created = pushes[1];
    Explorer::add_plain(pool);
    Explorer::add_plain(inside);
    Explorer::add_plain(counters);
    for (auto& of_worker : nodes) {
      for (auto& node : of_worker) Explorer::add_plain(node.runs);
    }
  }

  std::array<unsigned, 2> pushes;
  ModelPool pool;
  ReadySet<ExploredAtomics> ready{1};
  Events events;
  Explored<std::uint32_t> is_over{0};
  struct Counters {  // a worker's; all are read in one step
    std::uint64_t created = 0, finished = 0;
  };
  std::array<Counters, kWorkers> counters{};
  std::array<std::array<Node, 2>, kWorkers> nodes;
  int inside = 0;  // of the pool
  std::string failure;

  Sums sums() {
    Sums sums;
    Explorer::step();
    for (const Counters& c : counters) {
      sums.finished += c.finished;
      sums.created += c.created;
      Explorer::read(c.finished << 8 | c.created);
    }
    return sums;
  }
  // For end_of_run().
  bool are_all_idle() {
    return !Rules::kEndsOnlyWhenAllAreIdle || Events::idle(events.look_ordered()) == kWorkers;
  }
  static bool is_held_open() { return false; }
  static bool has_inbox() { return false; }
  static bool has_work() { return true; }  // no task waits for a group
  static std::uint64_t idle_ends() { return 0; }
  void make_ready(bool notifies = true) {
    ready.add(0, 0);
    if (Rules::kNotifies && notifies) events.notify();
  }
  void make_ready_from_outside() {
    ready.add(0, 0);
    if (Rules::kNotifies) events.notify_last();
  }
  void run(Node* node) {
    if (++inside != 1) failure = "two tasks of one pool at once";
    Explorer::step();
    ++node->runs;
    --inside;
  }

  /// False: nothing to claim.
  bool run_pool(unsigned self) {
    unsigned last = 0;
    if (ready.claim(0, last) == kNoPool) return false;
    bool has_run = false;
    for (;;) {
      for (;;) {
        const auto taken = pool.take();
        if (taken.node == nullptr) break;
        has_run = true;
        run(taken.node);
        ++counters[self].finished;
        if (taken.is_last) break;
      }
      const bool has_more = Rules::kLags && pool.has_more();
      if (!Rules::kFinishesAfterLag && !has_more) return true;
      const auto finished = pool.finish();
      if (finished.is_empty) return true;
      if (Rules::kLags && finished.released != nullptr) continue;  // more came: the turn goes on
      make_ready(has_run);                                         // else half-linked: it looks again itself
      return true;
    }
  }

  void push_from_outside() {
    for (unsigned i = 0; i < pushes[1]; ++i) {
      Explorer::forget(kWorkers + i);
      if (pool.push(&nodes[1][i], &nodes[1][i])) make_ready_from_outside();
    }
  }

  void work(unsigned self) {
    for (unsigned i = 0; self == 0 && i < pushes[0]; ++i) {
      ++counters[0].created;
      if (pool.push(&nodes[0][i], &nodes[0][i])) make_ready();
    }
    for (;;) {
      Explorer::forget(self);
      if (run_pool(self)) continue;
      const auto ticket = events.announce();
      if (is_over.load(std::memory_order_seq_cst) != 0) return;
      if (Rules::kRechecksBeforeSleep && !ready.is_empty(0)) {
        events.cancel();
        continue;
      }
      const std::uint64_t word = events.look_ordered();
      if (Events::idle(word) == kWorkers || !Rules::kEndsOnlyWhenAllAreIdle) {
        if (end_of_run<typename Rules::RunEndRules>(*this) == RunEnd::finished) {
          for (unsigned w = 0; w < 2; ++w) {
            for (unsigned i = 0; i < pushes[w]; ++i) {
              if (nodes[w][i].runs == 0) failure = "the run ended too early";
            }
          }
          is_over.store(1, std::memory_order_seq_cst);
          events.notify_all();
          return;
        }
      }
      if (Events::idle(word) == kWorkers) {
        events.sleep_last(ticket);
      } else {
        events.sleep(ticket);
      }
      events.cancel();
    }
  }
};

struct Outcome {
  Explorer::Result result;
  std::string failure;  ///< the first
};

template <class Rules>
Outcome explore(std::array<unsigned, 2> pushes) {
  alignas(Model<Rules>) static unsigned char place[sizeof(Model<Rules>)];  // one address for all runs
  Model<Rules>* model = nullptr;
  Outcome outcome;
  outcome.result = Explorer::explore_states(
      [&] {
        if (model != nullptr) model->~Model<Rules>();
        model = ::new (static_cast<void*>(place)) Model<Rules>(pushes);
        return Explorer::Bodies{[model] { model->work(0); }, [model] { model->work(1); },
                                [model] { model->push_from_outside(); }};
      },
      [&](bool is_stuck) {
        outcome.failure = model->failure;
        if (is_stuck) outcome.failure = "workers sleep for ever";
        for (unsigned w = 0; w < 2; ++w) {
          for (unsigned i = 0; i < pushes[w]; ++i) {
            if (model->nodes[w][i].runs > 1) outcome.failure = "a task ran twice";
          }
        }
        return outcome.failure.empty();
      });
  model->~Model<Rules>();
  return outcome;
}

template <class Rules>
void expect_correct(std::array<unsigned, 2> pushes) {
  const Outcome outcome = explore<Rules>(pushes);
  EXPECT_EQ(outcome.failure, "");
  EXPECT_TRUE(outcome.result.is_exhausted) << outcome.result.runs << " runs";
  EXPECT_GT(outcome.result.ended, 0u);
  EXPECT_GT(outcome.result.states, 1000u);
  ::testing::Test::RecordProperty("states", static_cast<int>(outcome.result.states));
  ::testing::Test::RecordProperty("runs", static_cast<int>(outcome.result.runs));
}

TEST(Protocol, AnotherThreadPushesOneTask) { expect_correct<WorkerRules>({0, 1}); }
TEST(Protocol, AnotherThreadPushesTwoTasks) { expect_correct<WorkerRules>({0, 2}); }
TEST(Protocol, AWorkerAndAnotherThreadPushToOnePool) { expect_correct<WorkerRules>({1, 1}); }

struct Lags : WorkerRules {
  static constexpr bool kLags = true;
};
TEST(Protocol, AWorkerAndAnotherThreadPushToAPoolWhoseOwnerLags) { expect_correct<Lags>({1, 1}); }

// ---- Requests ----

/// A worker idles until another thread asks all to end; it sleeps without looking at requests again, and not
/// as the last, since there might be another one that is busy.
template <class Rules, bool kWakesLast>
struct Requested {
  using Events = EventCount<ExploredAtomics, Rules>;
  Events events;
  bool has_ended = false;

  Requested() { Explorer::add_plain(has_ended); }
  void work() {
    while (!has_ended) {
      const auto ticket = events.announce();
      has_ended = (ticket.word & Events::kEnd) != 0;
      if (!has_ended) events.sleep(ticket);
      events.cancel();
    }
  }
  void ask() {
    events.raise(Events::kEnd);
    if constexpr (kWakesLast) {
      events.notify_last();
    } else {
      events.notify_all();
    }
  }
};

template <class Rules, bool kWakesLast = false>
bool is_request_lost() {
  using Model = Requested<Rules, kWakesLast>;
  alignas(Model) static unsigned char place[sizeof(Model)];
  Model* model = nullptr;
  bool is_lost = false;
  const Explorer::Result result = Explorer::explore_states(
      [&] {
        model = ::new (static_cast<void*>(place)) Model;
        return Explorer::Bodies{[model] { model->work(); }, [model] { model->ask(); }};
      },
      [&](bool is_stuck) {
        is_lost = is_lost || is_stuck;
        return !is_lost;
      });
  EXPECT_TRUE(is_lost || (result.is_exhausted && result.runs > 1));
  return is_lost;
}

TEST(Protocol, ARequestReachesAWorkerThatIsAboutToSleep) {
  EXPECT_FALSE(is_request_lost<rubato::native::EventCountRules>());
  EXPECT_FALSE((is_request_lost<rubato::native::EventCountRules, true>()));
}

// ---- Mutants ----

struct WakesTheLastOnly : rubato::native::EventCountRules {
  static constexpr bool kWakesAnyIfTheLastIsAwake = false;
};
TEST(ProtocolMutants, WakingNobodyIfTheLastIsAwakeLetsAnotherOneSleep) {
  EXPECT_TRUE((is_request_lost<WakesTheLastOnly, true>()));
}

// A33.
struct CountedLate : rubato::native::EventCountRules {
  static constexpr bool kCountsBeforeSleep = false;
};
TEST(ProtocolMutants, ASleeperThatIsNotCountedBeforeItSleepsIsNotWoken) {
  EXPECT_TRUE(is_request_lost<CountedLate>());
  EXPECT_TRUE((is_request_lost<CountedLate, true>()));
}

struct SleepersBeforeEpoch : rubato::native::EventCountRules {
  static constexpr bool kLooksForSleepersAfterEpoch = false;
};
TEST(ProtocolMutants, LookingForSleepersBeforeTheEpochChangesMissesWhoIsAboutToSleep) {
  EXPECT_TRUE(is_request_lost<SleepersBeforeEpoch>());
  EXPECT_TRUE((is_request_lost<SleepersBeforeEpoch, true>()));
}

struct LooksBeforeTicket : rubato::native::EventCountRules {
  static constexpr bool kLooksAfterTicket = false;
};
TEST(ProtocolMutants, LookingAtRequestsBeforeTakingTheTicketLosesOne) {
  EXPECT_TRUE(is_request_lost<LooksBeforeTicket>());
}

template <class Rules>
std::string first_failure() {
  for (const std::array<unsigned, 2> pushes : {std::array<unsigned, 2>{0, 1}, {1, 1}, {0, 2}}) {
    const Outcome outcome = explore<Rules>(pushes);
    if (!outcome.failure.empty()) return outcome.failure;
  }
  return "";
}

struct NoRecheck : WorkerRules {
  static constexpr bool kRechecksBeforeSleep = false;
};
TEST(ProtocolMutants, SleepingWithoutARecheckLosesWork) {
  EXPECT_EQ(first_failure<NoRecheck>(), "workers sleep for ever");
}

struct NoNotify : WorkerRules {
  static constexpr bool kNotifies = false;
};
TEST(ProtocolMutants, PushingWithoutNotifyingLetsWorkersSleep) {
  EXPECT_EQ(first_failure<NoNotify>(), "workers sleep for ever");
}

struct HalfLinkedIsEmpty : WorkerRules {
  struct PoolRules : rubato::native::PoolRules {
    static constexpr bool kHalfLinkedIsNotEmpty = false;
  };
};
TEST(ProtocolMutants, TakingAHalfLinkedPushForAnEmptyPoolLosesIt) {
  EXPECT_EQ(first_failure<HalfLinkedIsEmpty>(), "workers sleep for ever");
}

struct GivesUpByTheLookAlone : Lags {
  static constexpr bool kFinishesAfterLag = false;
};
TEST(ProtocolMutants, GivingUpAfterALagWithoutFinishingLosesWhatComesLater) {
  EXPECT_NE(first_failure<GivesUpByTheLookAlone>(), "");
}

struct LetsLastGo : WorkerRules {
  struct PoolRules : rubato::native::PoolRules {
    static constexpr bool kKeepsLastUntilFinish = false;
  };
};
TEST(ProtocolMutants, LettingThePoolGoBeforeItsLastTaskEndedRunsOneTwiceOrTwoAtOnce) {
  EXPECT_NE(first_failure<LetsLastGo>(), "");
}

struct LateTicket : WorkerRules {
  struct EventCountRules : WorkerRules::EventCountRules {
    static constexpr bool kTicketAfterAnnounce = false;
  };
};
TEST(ProtocolMutants, TakingTheTicketAfterTheRecheckLosesAWakeUp) {
  EXPECT_EQ(first_failure<LateTicket>(), "workers sleep for ever");
}

struct SameEpoch : WorkerRules {
  struct EventCountRules : WorkerRules::EventCountRules {
    static constexpr bool kNotifyChangesEpoch = false;
  };
};
TEST(ProtocolMutants, WakingWithoutANewEpochMissesWhoIsAboutToSleep) {
  EXPECT_EQ(first_failure<SameEpoch>(), "workers sleep for ever");
}

struct EndsWithoutAllIdle : WorkerRules {
  static constexpr bool kEndsOnlyWhenAllAreIdle = false;
};
TEST(ProtocolMutants, EqualSumsWhileAWorkerIsBusyEndTheRunTooEarly) {
  EXPECT_EQ(first_failure<EndsWithoutAllIdle>(), "the run ended too early");
}

}  // namespace
