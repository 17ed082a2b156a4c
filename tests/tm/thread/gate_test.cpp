// Interleavings of the gate and of quiescence, drawn at random, for two and three threads (rules T33, T35,
// T36, T51).
// SPDX-License-Identifier: MIT
#include "tm/thread/gate.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "tests/native/sync/explorer.hpp"

namespace rubato::tm {
namespace {

using runtime::test::ExploredAtomics;
using runtime::test::Explorer;

/// The policy of the explorer, with futexes: who sleeps can go on after a wake() of the word.
struct Explored : ExploredAtomics {
  static constexpr int kSpins = 0, kYields = 0;
  using Word = atomic<std::uint32_t>;

  static std::map<const Word*, int>& wakes() {
    static std::map<const Word*, int> counts;
    return counts;
  }
  static void heavy_fence() {}
  static void light_fence() {}
  static void yield() {}
  static void sleep(Word& word, std::uint32_t seen, std::uint32_t microseconds) {
    Explorer::step();
    if (word.now() != seen) return;
    if (microseconds != 0) {  // it looks again by itself: as good as when there is something new
      Explorer::block([&word, seen] { return word.now() != seen; });
      return;
    }
    const int before = wakes()[&word];
    Explorer::block([&word, before] { return wakes()[&word] != before; });
  }
  static void wake(Word& word, int) {
    Explorer::step();
    ++wakes()[&word];
  }
};

Fault fault = Fault::none;

struct State {
  Lines<Explored> lines;
  Gate<Explored> gate{lines};
  Line<Explored> line[3];
  int inside = 0, alone = 0, started = 0, finished = 0;
  bool is_wrong = false;
  State() {
    for (auto& each : line) lines.add(each);
  }
};
std::unique_ptr<State> state;

void enter(int me) {
  State& s = *state;
  while (true) {
    const std::uint32_t regime = s.gate.try_enter(s.line[me]);
    if ((regime & (Regime::kClosed | Regime::kHeld)) == 0) return;
    s.gate.wait_for_opening(regime);
  }
}

void concurrent(int me) {
  State& s = *state;
  enter(me);
  ++s.inside;
  Explorer::step();
  s.is_wrong |= s.alone != 0;
  --s.inside;
  s.gate.leave(s.line[me]);
  ++s.finished;
}

void serial(int me) {
  State& s = *state;
  s.gate.lock();
  s.gate.close(&s.line[me]);
  ++s.alone;
  s.is_wrong |= s.inside != 0 || s.alone != 1;
  Explorer::step();
  s.is_wrong |= s.inside != 0 || s.alone != 1;
  --s.alone;
  s.gate.open();
  s.gate.unlock();
  ++s.finished;
}

/// In the middle of a concurrent transaction, as become_irrevocable().
void switches(int me) {
  State& s = *state;
  enter(me);
  if (!s.gate.try_lock()) {
    s.gate.leave(s.line[me]);
    serial(me);
    return;
  }
  s.gate.close(&s.line[me]);
  ++s.alone;
  s.is_wrong |= s.inside != 0 || s.alone != 1;
  s.gate.leave(s.line[me]);
  Explorer::step();
  s.is_wrong |= s.inside != 0 || s.alone != 1;
  --s.alone;
  s.gate.open();
  s.gate.unlock();
  ++s.finished;
}

struct Outcome {
  bool is_wrong = false;    ///< two were inside who exclude each other
  bool waits_ever = false;  ///< a thread was never woken
};
bool operator==(Outcome a, Outcome b) { return a.is_wrong == b.is_wrong && a.waits_ever == b.waits_ever; }
constexpr Outcome kRight{};

/// Random schedules, stopped by the first that goes wrong.
Outcome sample(const std::vector<std::function<void(int)>>& bodies, std::uint64_t schedules = 10000) {
  Outcome outcome;
  Explorer::sample(
      schedules,
      [&] {
        state = std::make_unique<State>();
        Explored::wakes().clear();
        Explorer::Bodies all;
        for (std::size_t i = 0; i < bodies.size(); ++i)
          all.push_back([&, i] { bodies[i](static_cast<int>(i)); });
        return all;
      },
      [&] {
        outcome.is_wrong |= state->is_wrong;
        outcome.waits_ever |= state->finished != static_cast<int>(bodies.size());
      },
      [&] { return !(outcome == kRight); });
  return outcome;
}

void serial_twice(int me) {
  serial(me);
  serial(me);
  --state->finished;
}

TEST(Gate, ASerialTransactionIsAlone) { EXPECT_EQ(sample({concurrent, serial}), kRight); }
TEST(Gate, TwoSerialTransactionsAndAConcurrentOne) {
  EXPECT_EQ(sample({serial, concurrent, serial}), kRight);
}
TEST(Gate, WhoeverBecomesSerialInTheMiddleIsAlone) {
  EXPECT_EQ(sample({switches, concurrent, concurrent}), kRight);
}
TEST(Gate, TwoThatBecomeSerialInTheMiddleDoNotWaitForEachOther) {
  EXPECT_EQ(sample({switches, switches, concurrent}), kRight);
}
TEST(Gate, NobodySleepsThroughTwoOpenings) {
  EXPECT_EQ(sample({serial_twice, concurrent, concurrent}), kRight);
}

TEST(GateFaults, EnteringWithoutASecondLookAtTheGateIsFound) {
  fault = Fault::gate_not_rechecked;
  EXPECT_TRUE(sample({serial, concurrent}).is_wrong);
  fault = Fault::none;
}
TEST(GateFaults, ClosingWithoutWaitingIsFound) {
  fault = Fault::irrevocable_not_alone;
  EXPECT_TRUE(sample({serial, concurrent}).is_wrong);
  fault = Fault::none;
}
TEST(GateFaults, AGateWithoutGenerationsIsFound) {
  fault = Fault::gate_without_generation;
  EXPECT_TRUE(sample({serial_twice, concurrent, concurrent}, 200000).waits_ever);
  fault = Fault::none;
}

// A block is taken out by an update at time 2; whoever began before may still touch it.
Explored::atomic<std::uint64_t>* now;
bool is_private, is_published, is_touched;

void reader(int me) {
  State& s = *state;
  s.gate.try_enter(s.line[me]);
  const std::uint64_t snapshot = now->load(std::memory_order_seq_cst);
  s.line[me].snapshot.store(snapshot, std::memory_order_release);
  Explorer::step();
  if (is_published) {
    Explorer::step();
    is_touched = true;
    s.is_wrong |= is_private && snapshot < 2;
    Explorer::step();
    s.is_wrong |= is_private && snapshot < 2;
    is_touched = false;
  }
  s.gate.leave(s.line[me]);
  ++s.finished;
}

void privatizer(int me) {
  State& s = *state;
  s.gate.try_enter(s.line[me]);
  s.line[me].snapshot.store(now->load(std::memory_order_seq_cst), std::memory_order_release);
  Explorer::step();
  is_published = false;
  const std::uint64_t time = now->fetch_add(1, std::memory_order_seq_cst) + 1;
  s.gate.leave(s.line[me]);
  quiesce(s.lines, &s.line[me], time);
  s.is_wrong |= is_touched;
  is_private = true;
  ++s.finished;
}

Outcome privatize() {
  static Explored::atomic<std::uint64_t> clock;
  now = &clock;
  return sample({[](int me) {
                   clock = Explored::atomic<std::uint64_t>{1};
                   is_private = is_touched = false;
                   is_published = true;
                   ++state->started;
                   reader(me);
                 },
                 [](int me) {
                   Explorer::block([] { return state->started == 1; });
                   privatizer(me);
                 }},
                20000);
}

TEST(Quiescence, NobodyTouchesWhatBecamePrivate) { EXPECT_EQ(privatize(), kRight); }
TEST(Quiescence, LeftOutIsFound) {
  fault = Fault::quiescence_skipped;
  EXPECT_TRUE(privatize().is_wrong);
  fault = Fault::none;
}

}  // namespace

bool has_fault(Fault asked) { return asked == fault; }
void let_others_in() {}

}  // namespace rubato::tm
