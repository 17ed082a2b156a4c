// Interleavings of the gate and of quiescence, drawn at random, for two and three threads (T33, T35,
// T36, T51).
// SPDX-License-Identifier: MIT
#include "tm/thread/gate.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "tests/tm/explored.hpp"

namespace rubato::tm {

Fault fault = Fault::none;
bool has_fault(Fault asked) { return asked == fault; }
void let_others_in() {}

namespace {

struct State {
  Lines<Explored> lines;
  Gate<Explored> gate{lines};
  Line<Explored> line[3];
  int inside_of[Regime::kAlgorithms] = {};
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
  bool is_wrong = false;    ///< two threads were inside that exclude each other
  bool waits_ever = false;  ///< a thread was never woken
};
bool operator==(Outcome a, Outcome b) { return a.is_wrong == b.is_wrong && a.waits_ever == b.waits_ever; }
constexpr Outcome kRight{};

/// Random schedules, stopped by the first that goes wrong.
Outcome sample(
    const std::vector<std::function<void(int)>>& bodies, std::uint64_t schedules = 10000,
    const std::function<void(State&)>& prepare = [](State&) {}) {
  Outcome outcome;
  Explorer::sample(
      schedules,
      [&] {
        state = std::make_unique<State>();
        prepare(*state);
        Explored::wakes().clear();
        return Explorer::numbered(bodies);
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

// The algorithm changes while transactions begin (T50). 0 is serial: its transactions exclude all
// others; those of two concurrent algorithms exclude each other.
void look(State& s, std::uint32_t mine) {
  for (std::uint32_t id = 0; id < Regime::kAlgorithms; ++id) s.is_wrong |= id != mine && s.inside_of[id] != 0;
  s.is_wrong |= s.alone != 0 || (mine == 0 && s.inside_of[0] != 1);
}

void work(State& s, std::uint32_t algorithm) {
  ++s.inside_of[algorithm];
  look(s, algorithm);
  Explorer::step();
  look(s, algorithm);
  --s.inside_of[algorithm];
}

void any(int me) {
  State& s = *state;
  Gate<Explored>::Entry entry;
  while ((entry = s.gate.start(s.line[me])).how == Gate<Explored>::Entry::How::kept_out)
    s.gate.wait_for_opening(entry.regime);
  const bool is_alone = entry.how == Gate<Explored>::Entry::How::alone;
  const std::uint32_t algorithm = is_alone ? 0 : Regime::algorithm(entry.regime);
  work(s, algorithm);
  s.gate.end_alone(s.line[me]);
  ++s.finished;
}
/// Alone without a wait, where that is possible.
void at_once(int me) {
  State& s = *state;
  if (!s.gate.try_start_alone(s.line[me])) return any(me);
  work(s, 0);
  s.gate.end_alone(s.line[me]);
  ++s.finished;
}
template <std::uint32_t first, std::uint32_t second>
void changes_twice(int me) {
  State& s = *state;
  const auto change = [&s, me](std::uint32_t id) {
    while (!s.gate.try_switch(s.line[me], id)) Explorer::step();
  };
  change(first);
  any(me);
  change(second);
}

TEST(Switch, FromSerialToTwoAlgorithmsBesideTwoTransactions) {
  EXPECT_EQ(sample({any, any, changes_twice<1, 2>}), kRight);
}
TEST(Switch, ToAnAlgorithmAndBackToSerial) { EXPECT_EQ(sample({any, any, changes_twice<1, 0>}), kRight); }
TEST(Switch, BesideATransactionThatBecomesSerial) {
  EXPECT_EQ(sample({any, serial, changes_twice<1, 2>}), kRight);
}
TEST(Switch, BesideTransactionsThatAreAloneAtOnce) {
  EXPECT_EQ(sample({at_once, at_once, changes_twice<1, 0>}), kRight);
  EXPECT_EQ(sample({at_once, serial, changes_twice<1, 0>}), kRight);
}
TEST(Switch, WhoIsAloneAtOnceIsSoWithTheSerialAlgorithmOnly) {
  State s;
  EXPECT_TRUE(s.gate.try_start_alone(s.line[0]));
  EXPECT_FALSE(s.gate.try_start_alone(s.line[1])) << "the lock is taken";
  s.gate.end_alone(s.line[0]);
  EXPECT_TRUE(s.gate.try_start_alone(s.line[1]));
  s.gate.end_alone(s.line[1]);
  s.gate.change_algorithm(1);
  EXPECT_FALSE(s.gate.try_start_alone(s.line[0]));
  EXPECT_TRUE(s.gate.try_lock()) << "it was given back";
}
TEST(SwitchFaults, BeingAloneAtOnceWithoutASecondLookAtTheAlgorithmIsFound) {
  fault = Fault::regime_not_rechecked;
  EXPECT_TRUE(sample({at_once, at_once, changes_twice<1, 0>}, 200000).is_wrong);
  fault = Fault::none;
}
TEST(SwitchFaults, AChangeWithoutClosingTheGateIsFound) {
  fault = Fault::regime_changed_unclosed;
  EXPECT_TRUE(sample({any, any, changes_twice<1, 2>}, 200000).is_wrong);
  fault = Fault::none;
}
TEST(SwitchFaults, ABeginWithoutASecondLookAtTheAlgorithmIsFound) {
  fault = Fault::regime_not_rechecked;
  EXPECT_TRUE(sample({any, any, changes_twice<1, 0>}, 200000).is_wrong);
  fault = Fault::none;
}

// The gate is biased to thread 0; thread 1 registers, runs a transaction, and leaves (T34). The
// difference between a plain store and membarrier is not explored: here every access is seen at once.
void registers(int me) {
  State& s = *state;
  s.gate.unbias();
  s.gate.wait_for_biased(&s.line[me]);
  any(me);
}
void registers_and_leaves(int me) {
  registers(me);
  state->gate.bias();
  registers(me);
  --state->finished;
}
void two_with_bias(int me) {
  any(me);
  any(me);
  --state->finished;
}
void two_at_once_with_bias(int me) {
  at_once(me);
  at_once(me);
  --state->finished;
}
Outcome sample_biased(const std::vector<std::function<void(int)>>& bodies, std::uint32_t algorithm,
                      std::uint64_t schedules = 10000) {
  return sample(bodies, schedules, [algorithm](State& s) {
    s.gate.change_algorithm(algorithm);
    s.gate.bias();
  });
}

TEST(Bias, ASecondThreadRegistersBesideSerialTransactions) {
  EXPECT_EQ(sample_biased({two_with_bias, registers}, 0), kRight);
}
TEST(Bias, ASecondThreadRegistersBesideConcurrentTransactions) {
  EXPECT_EQ(sample_biased({two_with_bias, registers}, 1), kRight);
}
TEST(Bias, ComesBackWhenTheSecondThreadHasLeft) {
  EXPECT_EQ(sample_biased({two_with_bias, registers_and_leaves}, 0), kRight);
}
TEST(Bias, TwoThreadsRegisterAtOnce) {
  EXPECT_EQ(sample_biased({two_with_bias, registers, registers}, 0), kRight);
}
TEST(Bias, TheAlgorithmChangesWhileAThreadRegisters) {
  EXPECT_EQ(sample_biased({changes_twice<1, 0>, registers}, 0), kRight);
}
TEST(Bias, WhoRegistersBecomesSerial) {
  const auto becomes_serial = [](int me) {
    state->gate.unbias();
    state->gate.wait_for_biased(&state->line[me]);
    serial(me);
  };
  EXPECT_EQ(sample_biased({two_with_bias, becomes_serial}, 1), kRight);
  EXPECT_EQ(sample_biased({two_with_bias, becomes_serial}, 0), kRight);
}
TEST(Bias, IsLeftByWhoIsAloneAtOnce) {
  State s;
  s.gate.bias();
  EXPECT_TRUE(s.gate.try_start_alone(s.line[0]));
  EXPECT_TRUE(s.gate.is_inside(s.line[0])) << "without the lock";
  s.gate.end_alone(s.line[0]);
  EXPECT_FALSE(s.gate.is_inside(s.line[0]));
  s.gate.change_algorithm(1);
  EXPECT_FALSE(s.gate.try_start_alone(s.line[0]));
  s.gate.change_algorithm(0);
  s.gate.hold();
  EXPECT_FALSE(s.gate.try_start_alone(s.line[0]));
  EXPECT_FALSE(s.gate.is_inside(s.line[0]));
}
TEST(Bias, ThreadsRegisterBesideTransactionsThatAreAloneAtOnce) {
  EXPECT_EQ(sample_biased({two_at_once_with_bias, registers}, 0), kRight);
  EXPECT_EQ(sample_biased({two_at_once_with_bias, registers_and_leaves}, 0), kRight);
  EXPECT_EQ(sample_biased({two_at_once_with_bias, registers, registers}, 0), kRight);
}
TEST(BiasFaults, ABiasThatStaysIsFoundAlsoBesideWhoIsAloneAtOnce) {
  fault = Fault::bias_not_revoked;
  EXPECT_TRUE(sample_biased({two_at_once_with_bias, registers, registers}, 0, 200000).is_wrong);
  fault = Fault::none;
}
TEST(BiasFaults, ABiasThatStaysIsFound) {
  fault = Fault::bias_not_revoked;
  EXPECT_TRUE(sample_biased({two_with_bias, registers, registers}, 0, 200000).is_wrong);
  fault = Fault::none;
}
TEST(BiasFaults, RegisteringWithoutWaitingIsFound) {
  fault = Fault::bias_not_waited_for;
  EXPECT_TRUE(sample_biased({two_with_bias, registers}, 0, 200000).is_wrong);
  fault = Fault::none;
}

// The child of a fork has the gate as its only thread left it.
TEST(GateAfterFork, IsHeldOnlyByItsOwnThread) {
  for (const bool is_serial : {false, true}) {
    for (const bool is_holder : {false, true}) {
      State s;
      EXPECT_TRUE(s.gate.hold());
      s.gate.lock();
      s.gate.close(nullptr);
      s.gate.reset_after_fork(is_serial, is_holder);
      const std::uint32_t regime = s.gate.regime();
      EXPECT_EQ((regime & Regime::kHeld) != 0, is_holder);
      EXPECT_EQ((regime & Regime::kClosed) != 0, is_serial);
      EXPECT_EQ(s.gate.try_lock(), !is_serial);
    }
  }
}

// Privatization: an update at time 2 takes a block out. A reader that began before may still touch it.
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
}  // namespace rubato::tm
