// Hardware transactions on hardware that does what a script says, and beside software and serial ones in
// orders drawn at random (T45).
// SPDX-License-Identifier: MIT
#include "tm/thread/elision.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

#include "tests/tm/explored.hpp"
#include "tm/hardware/hybrid.hpp"
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

/// `looks`: what lets_in() answers, the last one for good.
struct ScriptedOthers {
  std::deque<bool> looks{true};
  bool opens = true;
  int waited = 0;
  bool lets_in() {
    const bool answer = looks.front();
    if (looks.size() > 1) looks.pop_front();
    return answer;
  }
  bool waits() {
    ++waited;
    return opens;
  }
};

struct Elision : testing::Test {
  ScriptedOthers others;
  HardwareHistory history;
  std::atomic<std::uint64_t> aborts[kHardwareAborts]{};
  std::vector<unsigned> pauses;

  bool begin(std::vector<unsigned> script, std::uintptr_t site = 0x1000) {
    Scripted::script.assign(script.begin(), script.end());
    Scripted::begun = 0;
    return begin_in_hardware<Scripted>(others, history, site, aborts,
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
TEST_F(Elision, GoesToSoftwareAfterFiveConflicts) {
  EXPECT_FALSE(begin(std::vector<unsigned>(5, kConflict)));
  EXPECT_TRUE(begin({})) << "they say nothing about the next one";
}
TEST_F(Elision, GoesToSoftwareAtOnceWhereCapacityDoesNotSuffice) {
  EXPECT_FALSE(begin({kCapacity | kConflict}));
  EXPECT_EQ(Scripted::begun, 1);
}
TEST_F(Elision, GoesToSoftwareAtOnceAfterAnAbortWithoutAReason) {
  EXPECT_FALSE(begin({kInterrupt}));
  EXPECT_EQ(count(HardwareAbort::other), 1u);
}
TEST_F(Elision, AFirstAbortWithoutAReasonIsForgiven) {
  begin({kInterrupt});
  EXPECT_TRUE(begin({})) << "software has touched the page";
  history.committed();
  EXPECT_TRUE(history.trusts_all());
  begin({kInterrupt});
  EXPECT_FALSE(begin({kInterrupt})) << "the second in a row";
  for (int skipped = 0; skipped < 3; ++skipped) {
    EXPECT_FALSE(begin({}));
    EXPECT_EQ(Scripted::begun, 0);
  }
  EXPECT_TRUE(begin({}));
}
TEST_F(Elision, GoesToSoftwareForWhatNeedsIt) {
  EXPECT_FALSE(begin({RtmStatus::explicit_abort(AbortCode::kNeedsSoftware)}));
  EXPECT_EQ(count(HardwareAbort::needs_software), 1u);
}
TEST_F(Elision, WaitsToBeLetInWithoutCountingThatAsATry) {
  others.looks = {false, false, false, false, false, false, true};
  EXPECT_TRUE(begin({}));
  EXPECT_EQ(count(HardwareAbort::locked), 6u);
  EXPECT_EQ(others.waited, 7);
}
TEST_F(Elision, GoesToSoftwareWhenAnotherAlgorithmRuns) {
  others.opens = false;
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

TEST_F(Elision, AllPlacesAreTrustedAsLongAsNoneHasFailed) {
  EXPECT_TRUE(history.trusts_all());
  begin({kConflict, kStarted});
  EXPECT_TRUE(history.trusts_all()) << "a conflict says nothing about the place";
  begin({kCapacity}, 0x1000);
  begin({kCapacity}, 0x2000);
  EXPECT_FALSE(history.trusts_all());
  const auto commit = [this](std::uintptr_t site) {
    while (!begin({}, site)) {  // it skips some
    }
    history.committed();
  };
  commit(0x1000);
  EXPECT_FALSE(history.trusts_all()) << "the other one";
  commit(0x2000);
  EXPECT_TRUE(history.trusts_all());
  commit(0x2000);
  EXPECT_TRUE(history.trusts_all());
}
TEST_F(Elision, APlaceThatFailedTwiceIsTrustedAfterTwoCommits) {
  begin({kCapacity});
  begin({});
  begin({kCapacity});
  for (int commits = 0; commits < 2; ++commits) {
    EXPECT_FALSE(history.trusts_all());
    while (!begin({})) {
    }
    history.committed();
  }
  EXPECT_TRUE(history.trusts_all());
}
TEST_F(Elision, TheFirstAttemptNeitherWaitsNorCounts) {
  Scripted::script = {kConflict};
  EXPECT_EQ(attempt_in_hardware<Scripted>(others), kConflict);
  EXPECT_EQ(attempt_in_hardware<Scripted>(others), kStarted);
  others.looks = {false};
  EXPECT_EQ(attempt_in_hardware<Scripted>(others), RtmStatus::explicit_abort(AbortCode::kLocked));
  EXPECT_EQ(others.waited, 0);
}
TEST_F(Elision, WhatFollowsAFirstAttemptCountsIt) {
  const auto retry = [this](unsigned status, std::vector<unsigned> script) {
    Scripted::script.assign(script.begin(), script.end());
    history.look_up(0x1000);
    return retry_in_hardware<Scripted>(
        others, history, aborts, [](unsigned) {}, status);
  };
  EXPECT_TRUE(retry(kConflict, {kConflict, kConflict, kConflict, kStarted}));
  EXPECT_EQ(count(HardwareAbort::conflict), 4u);
  EXPECT_FALSE(retry(kConflict, {kConflict, kConflict, kConflict, kConflict, kStarted}));
  EXPECT_EQ(count(HardwareAbort::conflict), 9u);
  EXPECT_TRUE(history.trusts_all());
  EXPECT_FALSE(retry(kCapacity, {kStarted}));
  EXPECT_FALSE(history.trusts_all());
  others.opens = false;
  EXPECT_FALSE(retry(RtmStatus::explicit_abort(AbortCode::kLocked), {kStarted})) << "another algorithm";
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

using test::Explorer;

/// Two words that are equal between transactions.
struct State {
  Lines<Explored> lines;
  Gate<Explored> gate{lines};
  SequenceLock<Explored> sequence;
  Hybrid<Explored> hybrid{gate, sequence};
  Line<Explored> line[3];
  int left = 0, right = 0;
  int updates = 0;
  int finished = 0;
  bool is_changed = false;  ///< to an algorithm without hardware
  bool is_wrong = false;
  State() {
    for (auto& each : line) lines.add(each);
    gate.change_algorithm(Regime::kHardware);
  }
};
std::unique_ptr<State> state;

/// Model of a hardware transaction: either its reads stay valid until it commits, or it does not commit. It
/// reads the words, and the library's state that let it in.
struct Modelled {
  static inline std::uint32_t regime;
  static inline std::uint64_t sequence;
  static unsigned begin() {
    Explorer::step();
    Explorer::atomically([] { regime = state->gate.regime(), sequence = state->sequence.now(); });
    return kStarted;
  }
  template <unsigned code>
  static unsigned abort() {
    return RtmStatus::explicit_abort(code);
  }
};

/// Both words move, with time for others in between.
void add_one(State& s) {
  ++s.left;
  Explorer::step();
  ++s.right;
  ++s.updates;
}

void serial(int me) {
  State& s = *state;
  s.gate.lock();
  s.gate.close(&s.line[me]);
  s.is_wrong |= s.left != s.right;
  add_one(s);
  s.gate.open();
  s.gate.unlock();
  ++s.finished;
}

/// As by_value.hpp has it: each read is followed by a look at the sequence, and all are looked at again when
/// that has moved.
void software(int me) {
  State& s = *state;
  const auto entry = s.gate.start(s.line[me]);
  if (entry.how == Gate<Explored>::Entry::How::alone) {
    add_one(s);
    s.gate.unlock();
    ++s.finished;
    return;
  }
  if (entry.how == Gate<Explored>::Entry::How::kept_out) {  // serial takes its turn instead
    serial(me);
    return;
  }
  s.hybrid.begin_software();
  while (true) {
    const std::uint64_t snapshot = s.sequence.wait_until_free();
    const int left = s.left;
    if (s.sequence.now() != snapshot) continue;
    const int right = s.right;
    if (s.sequence.now() != snapshot) continue;
    s.is_wrong |= left != right;
    if (!s.sequence.try_lock(snapshot)) continue;
    s.left = left + 1;
    Explorer::step();
    s.right = right + 1;
    ++s.updates;
    s.sequence.unlock();
    break;
  }
  s.hybrid.end_software();
  s.gate.leave(s.line[me]);
  ++s.finished;
}

void hardware(int me) {
  State& s = *state;
  HardwareHistory history;
  std::atomic<std::uint64_t> aborts[kHardwareAborts]{};
  for (int tries = 0; tries < 3; ++tries) {
    if (!begin_in_hardware<Modelled>(s.hybrid, history, 0x1000, aborts, [](unsigned) {})) break;
    const std::uint32_t regime = Modelled::regime;
    const std::uint64_t sequence = Modelled::sequence;
    const bool is_subscribed = fault != Fault::elision_not_subscribed;
    const int left = s.left;
    Explorer::step();
    const int right = s.right;
    Explorer::step();
    bool has_committed = false;
    Explorer::atomically([&] {
      const bool is_let_in = regime == s.gate.regime() && sequence == s.sequence.now();
      if (left != s.left || right != s.right || (is_subscribed && !is_let_in)) return;
      has_committed = true;
      s.is_wrong |= left != right || s.is_changed;
      ++s.left;
      ++s.right;
      ++s.updates;
      s.hybrid.pass();
    });
    if (!has_committed) continue;
    ++s.finished;
    return;
  }
  software(me);
}

void changes(int me) {
  State& s = *state;
  s.gate.lock();
  s.gate.close(&s.line[me]);
  s.gate.change_algorithm(0);
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
        return Explorer::numbered(bodies);
      },
      [&] {
        const State& s = *state;
        is_wrong |= s.is_wrong || s.finished != static_cast<int>(bodies.size());
        is_wrong |= s.left != s.updates || s.right != s.updates;
      },
      [&] { return is_wrong; });
  return is_wrong;
}

TEST(ElisionOrders, AHardwareTransactionSeesNoHalfOfASerialOne) {
  EXPECT_FALSE(goes_wrong({serial, hardware}));
  EXPECT_FALSE(goes_wrong({serial, serial, hardware}));
}
TEST(ElisionOrders, SoftwareAndHardwareTransactionsSeeNoHalvesOfEachOther) {
  EXPECT_FALSE(goes_wrong({software, hardware}));
  EXPECT_FALSE(goes_wrong({software, software, hardware}));
  EXPECT_FALSE(goes_wrong({software, hardware, hardware}));
}
TEST(ElisionOrders, AllThreeKindsBesideEachOther) {
  EXPECT_FALSE(goes_wrong({software, serial, hardware}, 30000));
}
TEST(ElisionOrders, BesideAChangeOfTheAlgorithm) { EXPECT_FALSE(goes_wrong({changes, hardware, software})); }
TEST(ElisionFaults, HardwareThatDoesNotLookWhetherItIsLetInIsFound) {
  fault = Fault::elision_not_subscribed;
  EXPECT_TRUE(goes_wrong({serial, hardware}));
  EXPECT_TRUE(goes_wrong({software, hardware}));
  EXPECT_TRUE(goes_wrong({changes, hardware}));
  fault = Fault::none;
}
TEST(ElisionFaults, HardwareThatDoesNotTellSoftwareIsFound) {
  fault = Fault::hardware_unseen;
  EXPECT_TRUE(goes_wrong({software, hardware}));
  fault = Fault::none;
}
TEST(Hybrid, MovesTheSequenceOnlyBesideSoftware) {
  State s;
  const std::uint64_t before = s.sequence.now();
  EXPECT_EQ(s.hybrid.pass(), 0u);
  EXPECT_EQ(s.sequence.now(), before);
  s.hybrid.begin_software();
  EXPECT_EQ(s.hybrid.pass(), before + 2);
  EXPECT_EQ(s.sequence.now(), before + 2);
  s.hybrid.end_software();
  EXPECT_EQ(s.hybrid.pass(), 0u);
}

}  // namespace
}  // namespace rubato::tm
