// Hardware transactions on hardware that does what a script says, and beside the serial lock in all orders
// (rule T45).
// SPDX-License-Identifier: MIT
#include "tm/hardware/elision.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

#include "tests/tm/explored.hpp"
#include "tm/hardware/presence.hpp"
#include "tm/thread/gate.hpp"

namespace rubato::tm {
namespace {

constexpr unsigned kConflict = RtmStatus::kConflict, kCapacity = RtmStatus::kCapacity, kInterrupt = 0;
constexpr unsigned kStarted = RtmStatus::kStarted;

/// begin() answers as the script says, and when it has ended, that it has started.
struct Scripted {
  static inline std::deque<unsigned> script;
  static inline int begun = 0, committed = 0;
  static unsigned begin() {
    ++begun;
    if (script.empty()) return kStarted;
    const unsigned status = script.front();
    script.pop_front();
    return status;
  }
  static void commit() { ++committed; }
  template <unsigned code>
  static unsigned abort() {
    return RtmStatus::explicit_abort(code);
  }
};

/// `looks`: what is_unlocked() answers, the last one for good.
struct ScriptedGate {
  std::deque<bool> looks{true};
  bool opens = true;
  int waits = 0;
  bool is_unlocked() {
    const bool answer = looks.front();
    if (looks.size() > 1) looks.pop_front();
    return answer;
  }
  bool waits_until_unlocked() {
    ++waits;
    return opens;
  }
};

struct Elision : testing::Test {
  ScriptedGate gate;
  HardwareHistory history;
  std::atomic<std::uint64_t> aborts[kHardwareAborts]{};
  std::vector<unsigned> pauses;

  bool begin(std::vector<unsigned> script, std::uintptr_t site = 0x1000) {
    Scripted::script.assign(script.begin(), script.end());
    Scripted::begun = 0;
    return begin_in_hardware<Scripted>(gate, history, site, aborts,
                                       [this](unsigned n) { pauses.push_back(n); });
  }
  std::uint64_t count(HardwareAbort reason) const { return aborts[static_cast<std::size_t>(reason)].load(); }
};

TEST_F(Elision, StartsAtOnce) {
  EXPECT_TRUE(begin({kStarted}));
  EXPECT_EQ(Scripted::begun, 1);
}
TEST_F(Elision, TriesAgainAfterConflictsAndWaitsLongerEachTime) {
  EXPECT_TRUE(begin({kConflict, kConflict, kConflict, kConflict, kStarted}));
  EXPECT_EQ(pauses, (std::vector<unsigned>{1, 2, 3, 4}));
  EXPECT_EQ(count(HardwareAbort::conflict), 4u);
}
TEST_F(Elision, TakesTheLockAfterFiveConflicts) {
  EXPECT_FALSE(begin(std::vector<unsigned>(5, kConflict)));
  EXPECT_TRUE(begin({})) << "they say nothing about the next one";
}
TEST_F(Elision, TakesTheLockAtOnceWhereCapacityDoesNotSuffice) {
  EXPECT_FALSE(begin({kCapacity | kConflict}));
  EXPECT_EQ(Scripted::begun, 1);
}
TEST_F(Elision, TakesTheLockAfterThreeOtherAborts) {
  EXPECT_FALSE(begin({kInterrupt, kInterrupt, kInterrupt}));
  EXPECT_EQ(count(HardwareAbort::other), 3u);
}
TEST_F(Elision, TakesTheLockForWhatNeedsIt) {
  EXPECT_FALSE(begin({RtmStatus::explicit_abort(AbortCode::kNeedsLock)}));
  EXPECT_EQ(count(HardwareAbort::needs_lock), 1u);
}
TEST_F(Elision, WaitsForTheLockWithoutCountingThatAsATry) {
  gate.looks = {false, false, false, false, false, false, true};
  EXPECT_TRUE(begin({}));
  EXPECT_EQ(count(HardwareAbort::locked), 6u);
  EXPECT_EQ(gate.waits, 7);
}
TEST_F(Elision, QueuesForALockThatIsHeldForLong) {
  gate.opens = false;
  EXPECT_FALSE(begin({}));
  EXPECT_EQ(Scripted::begun, 0);
}
TEST_F(Elision, PlacesWhoseTransactionsAreTooLongSkipMoreAndMore) {
  int skipped = 0;
  std::vector<int> skips;
  for (int i = 0; i < 40; ++i) {
    if (!begin({kCapacity}) && Scripted::begun == 0) {
      ++skipped;
    } else {
      skips.push_back(skipped);
      skipped = 0;
    }
  }
  EXPECT_EQ(skips, (std::vector<int>{0, 1, 3, 7, 15}));
  EXPECT_TRUE(begin({}, 0x2000)) << "another place";
}
TEST_F(Elision, ACommitMakesAPlaceTrustedAgain) {
  begin({kCapacity});
  EXPECT_FALSE(begin({}));
  EXPECT_TRUE(begin({}));
  history.committed();
  begin({kCapacity});
  EXPECT_FALSE(begin({}));
  EXPECT_TRUE(begin({}));
}

TEST(Presence, NeedsTheBitOfCpuid) {
  Scripted::script = {};
  EXPECT_STREQ(why_absent<Scripted>({0, 0}), "this processor has no RTM");
  EXPECT_STREQ(why_absent<Scripted>({1u << 11, 1u << 11}),
               "this processor aborts every hardware transaction");
  Scripted::committed = 0;
  EXPECT_EQ(why_absent<Scripted>({1u << 11, 0}), nullptr);
  EXPECT_EQ(Scripted::committed, 1);
}
TEST(Presence, OneOf64TrialsHasToCommit) {
  Scripted::script.assign(63, kInterrupt);
  EXPECT_EQ(why_absent<Scripted>({1u << 11, 0}), nullptr);
  Scripted::script.assign(64, kInterrupt);
  EXPECT_STREQ(why_absent<Scripted>({1u << 11, 0}), "none of 64 hardware transactions committed");
}

using runtime::test::Explorer;

/// Two words that a serial transaction changes one after the other, and the locking that hardware sees.
struct State {
  Lines<Explored> lines;
  Gate<Explored> gate{lines};
  Line<Explored> line[3];
  int left = 0, right = 0;
  int locked = 0;  ///< how often the lock was taken or the regime changed
  int finished = 0;
  bool is_changed = false;  ///< to an algorithm without hardware
  bool is_wrong = false;
  State() {
    for (auto& each : line) lines.add(each);
    gate.change_algorithm(Regime::kElided);
  }
};
std::unique_ptr<State> state;

/// What it has read stays as it was until it commits, or it does not commit: the words, and the lock if the
/// library looked at it.
struct Modelled {
  static inline int locked_at_begin;
  static unsigned begin() {
    Explorer::step();
    locked_at_begin = state->locked;
    return kStarted;
  }
  template <unsigned code>
  static unsigned abort() {
    return RtmStatus::explicit_abort(code);
  }
};

void write_locked(State& s) {
  ++s.locked;
  ++s.left;
  Explorer::step();
  ++s.right;
}

void serial(int) {
  State& s = *state;
  s.gate.lock();
  write_locked(s);
  s.gate.unlock();
  ++s.finished;
}

void hardware(int me) {
  State& s = *state;
  HardwareHistory history;
  std::atomic<std::uint64_t> aborts[kHardwareAborts]{};
  for (int tries = 0; tries < 3; ++tries) {
    if (!begin_in_hardware<Modelled>(s.gate, history, 0x1000, aborts, [](unsigned) {})) break;
    // All reads are of one moment, the commit: between begin and commit the scheduler may do anything.
    const int locked = Modelled::locked_at_begin;
    const int left = s.left;
    Explorer::step();
    const int right = s.right;
    const bool is_conflict =
        fault == Fault::elision_not_subscribed ? left != s.left || right != s.right : locked != s.locked;
    if (is_conflict) continue;
    s.is_wrong |= left != right || s.is_changed;
    ++s.finished;
    return;
  }
  const auto entry = s.gate.start(s.line[me]);
  if (entry.how == Gate<Explored>::Entry::How::alone) {
    write_locked(s);
    s.gate.unlock();
  } else {
    s.gate.leave(s.line[me]);
  }
  ++s.finished;
}

void changes(int me) {
  State& s = *state;
  s.gate.lock();
  ++s.locked;
  s.gate.close(&s.line[me]);
  s.gate.change_algorithm(1);
  ++s.locked;
  s.is_changed = true;
  s.gate.open();
  s.gate.unlock();
  ++s.finished;
}

bool goes_wrong(const std::vector<std::function<void(int)>>& bodies, std::uint64_t schedules = 10000) {
  bool is_wrong = false;
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
      [&] { is_wrong |= state->is_wrong || state->finished != static_cast<int>(bodies.size()); },
      [&] { return is_wrong; });
  return is_wrong;
}

TEST(ElisionOrders, AHardwareTransactionSeesNoHalfOfASerialOne) {
  EXPECT_FALSE(goes_wrong({serial, hardware}));
  EXPECT_FALSE(goes_wrong({serial, serial, hardware}));
}
TEST(ElisionOrders, BesideAChangeOfTheAlgorithm) { EXPECT_FALSE(goes_wrong({changes, hardware})); }
TEST(ElisionFaults, HardwareThatDoesNotLookAtTheLockIsFound) {
  fault = Fault::elision_not_subscribed;
  EXPECT_TRUE(goes_wrong({serial, hardware}));
  EXPECT_TRUE(goes_wrong({changes, hardware}));
  fault = Fault::none;
}

}  // namespace
}  // namespace rubato::tm
