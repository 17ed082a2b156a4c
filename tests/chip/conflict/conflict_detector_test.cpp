// The detector's rules one by one, each where it applies and where it does not, with costs in cycles (C12,
// C14, C15). The 256-core chip: tiles 0 at (0,0), 1 at (1,0), 9 at (1,1), 18 at (2,2).
// SPDX-License-Identifier: MIT
#include "chip/conflict/conflict_detector.hpp"

#include <gtest/gtest.h>

#include "chip/stats/registry.hpp"
#include "tests/chip/conflict/conflict_rig.hpp"

namespace rubato::chip {
namespace {

constexpr auto kLoad = AccessKind::load;
constexpr auto kStore = AccessKind::store;
constexpr LineAddr kLine{5000};
constexpr TileId kHome{9};

std::uint32_t core_of(std::uint32_t tile, std::uint32_t core = 0) { return tile * 4 + core; }
VirtualTime at(Timestamp timestamp) { return {timestamp, 1}; }

class Detector : public testing::Test {
 protected:
  explicit Detector(Config config = {}) : rig(std::move(config)) {}

  /// An attempt that has read or written kLine.
  Attempt* reader(std::uint32_t core, Timestamp timestamp) { return accessor(core, timestamp, false); }
  Attempt* writer(std::uint32_t core, Timestamp timestamp) { return accessor(core, timestamp, true); }
  Attempt* accessor(std::uint32_t core, Timestamp timestamp, bool write) {
    Attempt* a = rig.begin(core, timestamp);
    rig.detector.record(CoreId{core}, kLine, write);
    return a;
  }
  CheckResult tile(std::uint32_t core, AccessKind kind, VirtualTime canary = {}) {
    CheckResult result;
    rig.detector.check_tile(CoreId{core}, kLine, kind, canary, next(), result);
    return result;
  }
  CheckResult global(std::uint32_t core, AccessKind kind, std::uint64_t holders = 0, bool writable = false) {
    CheckResult result;
    rig.detector.check_global(CoreId{core}, kLine, kind, holders, writable, kHome, next(), result);
    return result;
  }
  static std::uint64_t bit(std::uint32_t t) { return std::uint64_t{1} << t; }
  /// The tile loses the line: its accessors become sticky.
  void lose(std::uint32_t t, bool kept = false) { rig.detector.on_lose(TileId{t}, kLine, kept); }
  std::uint64_t sticky_readers() { return rig.detector.sticky().bits(kLine).readers; }
  std::uint64_t sticky_writers() { return rig.detector.sticky().bits(kLine).writers; }

  /// Far enough from other checks that their messages are not in the way.
  Cycle next() { return now += 1000; }

  ConflictRig rig;
  Cycle now{};
};

// ---- Who conflicts ----

TEST_F(Detector, IsInactiveUntilTheFirstAttemptBegins) {
  EXPECT_FALSE(rig.detector.is_active());
  Attempt* a = rig.begin(0, 5);
  EXPECT_TRUE(rig.detector.is_active());
  EXPECT_TRUE(rig.detector.is_speculative(CoreId{0}));
  EXPECT_FALSE(rig.detector.is_speculative(CoreId{1}));
  rig.commit(a);
  EXPECT_TRUE(rig.detector.is_active());
  EXPECT_FALSE(rig.detector.is_speculative(CoreId{0}));
}

TEST_F(Detector, AWriteAbortsLaterReadersAndWritersAndNobodyElse) {
  Attempt* early_reader = reader(core_of(0, 0), 10);
  Attempt* early_writer = writer(core_of(1, 0), 11);
  Attempt* late_reader = reader(core_of(0, 1), 30);
  Attempt* late_writer = writer(core_of(1, 1), 31);
  Attempt* bystander = rig.begin(core_of(1, 2), 40);
  rig.begin(core_of(0, 3), 20);
  const CheckResult r = global(core_of(0, 3), kStore, bit(0) | bit(1));
  EXPECT_TRUE(r.disturbed);
  EXPECT_FALSE(r.blocked);
  EXPECT_EQ(rig.units.aborted, (std::vector<Attempt*>{late_reader, late_writer}));
  for (Attempt* a : {early_reader, early_writer, bystander}) EXPECT_TRUE(rig.is_live(a));
  EXPECT_EQ(rig.units.reasons.at(0).cause, AbortCause::conflict);
  EXPECT_EQ(rig.units.reasons.at(0).line, kLine);
  EXPECT_EQ(rig.units.reasons.at(0).by, CoreId{core_of(0, 3)});
}

TEST_F(Detector, AReadAbortsLaterWritersAndNoReaders) {
  writer(core_of(1, 0), 11);
  reader(core_of(0, 1), 30);
  Attempt* late_writer = writer(core_of(1, 1), 31);
  rig.begin(core_of(0, 3), 20);
  EXPECT_TRUE(global(core_of(0, 3), kLoad, bit(1)).disturbed);
  EXPECT_EQ(rig.units.aborted, (std::vector<Attempt*>{late_writer}));
}

TEST_F(Detector, AnAttemptNeverConflictsWithItself) {
  writer(0, 20);
  EXPECT_FALSE(global(0, kStore).disturbed);
  EXPECT_FALSE(tile(0, kLoad).disturbed);
  EXPECT_FALSE(tile(0, kStore).disturbed);
}

TEST_F(Detector, EqualTimestampsAreOrderedByTieBreaker) {
  Attempt* a = rig.begin(0, VirtualTime{7, 100});
  Attempt* b = rig.begin(1, VirtualTime{7, 101});
  rig.detector.record(CoreId{0}, kLine, true);
  EXPECT_FALSE(tile(1, kStore).disturbed);
  EXPECT_TRUE(rig.is_live(a));
  rig.detector.record(CoreId{1}, kLine, true);
  EXPECT_TRUE(tile(0, kStore).disturbed);
  EXPECT_FALSE(rig.is_live(b));
}

TEST_F(Detector, FinishedAttemptsConflictUntilTheyEndAndNotAfter) {
  Attempt* a = writer(1, 30);
  rig.finish(a);
  rig.begin(0, 20);
  rig.begin(1, 40);  // the core goes on with another task
  EXPECT_TRUE(tile(0, kLoad).disturbed);
  EXPECT_EQ(rig.units.aborted, (std::vector<Attempt*>{a}));
  EXPECT_FALSE(tile(0, kLoad).disturbed);
}

TEST_F(Detector, ANonSpeculativeAccessPrecedesEverybody) {
  Attempt* a = writer(1, 0);
  EXPECT_TRUE(tile(0, kLoad).disturbed);
  EXPECT_FALSE(rig.is_live(a));
  Attempt* b = reader(1, 0);
  EXPECT_FALSE(tile(0, kLoad).disturbed);
  EXPECT_TRUE(rig.is_live(b));
}

TEST_F(Detector, ANonSpeculativeAccessWaitsForAFateInTheBalanceAndAbortsNobody) {
  Attempt* deciding = writer(1, 30);
  Attempt* running = writer(2, 40);
  rig.finish(deciding);
  rig.units.pending.insert(deciding);
  const CheckResult r = tile(0, kStore);
  EXPECT_TRUE(r.blocked);
  EXPECT_FALSE(r.disturbed);
  EXPECT_EQ(rig.units.waiting, (std::vector<CoreId>{CoreId{0}}));
  EXPECT_TRUE(rig.is_live(running));
  EXPECT_TRUE(global(0, kStore).blocked);
  rig.commit(deciding);
  EXPECT_TRUE(tile(0, kStore).disturbed);
  EXPECT_FALSE(rig.is_live(running));
}

TEST_F(Detector, AFinishedAttemptWhoseFateIsNotPendingIsAborted) {
  Attempt* a = writer(1, 30);
  rig.finish(a);
  EXPECT_TRUE(tile(0, kStore).disturbed);
  EXPECT_FALSE(rig.is_live(a));
}

TEST_F(Detector, AnExceptionedAttemptHasReadWhatItWroteAndWritesNothing) {
  Attempt* a = writer(1, 30);
  rig.detector.drop_writes(*a);
  rig.detector.stop_running(a->core);
  a->state = Attempt::State::exceptioned;
  rig.begin(0, 20);
  EXPECT_FALSE(tile(0, kLoad).disturbed);
  EXPECT_TRUE(tile(0, kStore).disturbed);
  EXPECT_FALSE(rig.is_live(a));
}

TEST_F(Detector, AnExceptionedAttemptStaysKnownAsAReaderWhereItWasKnownAsAWriter) {
  Attempt* a = writer(core_of(1), 30);
  lose(1, true);
  EXPECT_EQ(sticky_readers(), 0U);
  EXPECT_EQ(sticky_writers(), bit(1));
  rig.detector.drop_writes(*a);
  rig.begin(0, 20);
  global(0, kLoad);  // clears the writer's bit
  EXPECT_EQ(sticky_writers(), 0U);
  EXPECT_TRUE(global(0, kStore).disturbed);
}

class Stall : public Detector {
 protected:
  Stall()
      : Detector([] {
          Config c;
          c.conflict.forwarding = "stall";
          return c;
        }()) {}
};

TEST_F(Stall, AnAccessWaitsForAnEarlierWriterAndAbortsNobody) {
  Attempt* earlier = writer(1, 10);
  Attempt* late = writer(2, 30);
  rig.begin(0, 20);
  for (const AccessKind kind : {kLoad, kStore}) {
    EXPECT_TRUE(tile(0, kind).blocked);
    EXPECT_TRUE(global(0, kind).blocked);
  }
  EXPECT_EQ(rig.units.waiting.size(), 4U);
  EXPECT_TRUE(rig.is_live(late));
  rig.finish(earlier);
  rig.commit(earlier);
  EXPECT_FALSE(tile(0, kLoad).blocked);
  EXPECT_FALSE(rig.is_live(late));
}

TEST_F(Stall, EarlierReadersStopNobody) {
  reader(1, 10);
  rig.begin(0, 20);
  EXPECT_FALSE(tile(0, kLoad).blocked);
  EXPECT_FALSE(tile(0, kStore).blocked);
}

class AbortForwarding : public Detector {
 protected:
  AbortForwarding()
      : Detector([] {
          Config c;
          c.conflict.forwarding = "abort";
          return c;
        }()) {}
};

TEST_F(AbortForwarding, AnAccessThatMeetsAnEarlierWriterAbortsItsOwnTask) {
  Attempt* earlier = writer(1, 10);
  Attempt* self = rig.begin(0, 20);
  const CheckResult r = tile(0, kLoad);
  EXPECT_TRUE(r.blocked);
  EXPECT_TRUE(r.disturbed);
  EXPECT_EQ(rig.units.aborted, (std::vector<Attempt*>{self}));
  EXPECT_EQ(rig.units.reasons.at(0).cause, AbortCause::forwarding);
  EXPECT_TRUE(rig.is_live(earlier));
}

TEST_F(Detector, NamesEverybodyWhoIsLater) {
  rig.begin(core_of(20), 25);
  Attempt* later = writer(1, 31);
  Attempt* last = rig.begin(core_of(30), 32);
  rig.finish(last);
  std::vector<Attempt*> found;
  rig.detector.later_attempts(at(30), found);
  EXPECT_EQ(found, (std::vector<Attempt*>{later, last}));
}

// ---- What it costs ----

TEST_F(Detector, ATileCheckTakesFiveCyclesAndOneForEachTimestampCompared) {
  EXPECT_EQ(tile(0, kStore).cycles, 0U);  // no attempt is uncommitted
  rig.begin(0, 20);
  EXPECT_EQ(tile(0, kStore).cycles, 5U);
  reader(1, 10);
  EXPECT_EQ(tile(0, kStore).cycles, 6U);
  EXPECT_EQ(tile(0, kLoad).cycles, 5U);
  writer(2, 11);
  EXPECT_EQ(tile(0, kStore).cycles, 7U);
  EXPECT_EQ(tile(0, kLoad).cycles, 6U);
  EXPECT_EQ(tile(core_of(1), kStore).cycles, 0U);  // no attempt in that tile
  rig.detector.record(CoreId{0}, kLine, true);     // one's own is not compared
  EXPECT_EQ(tile(0, kStore).cycles, 7U);
}

TEST_F(Detector, AGlobalCheckWaitsForTheFarthestTileAsked) {
  rig.begin(core_of(0), 20);
  reader(core_of(18), 10);
  reader(core_of(1), 11);
  lose(18);
  lose(1);
  // 9 (1,1) to 18 (2,2): 3, one more flit for the virtual time, 5 + 1, back 3; tile 1 is one hop away.
  EXPECT_EQ(global(0, kStore).cycles, 13U);
  // A load concerns writers: only the own tile is asked.
  EXPECT_EQ(global(0, kLoad).cycles, 5U);
  // A holder is contacted anyway: check alone. Tile 1: 1 + 1 + 6 + 1.
  EXPECT_EQ(global(0, kStore, bit(18)).cycles, 9U);
  EXPECT_EQ(global(0, kStore, bit(18) | bit(1)).cycles, 6U);
}

TEST_F(Detector, ATileWithoutAttemptsAnswersAtOnce) {
  Attempt* gone = reader(core_of(18), 10);
  lose(18);
  rig.commit(gone);
  rig.begin(core_of(0), 20);
  const std::uint64_t before = rig.mesh->bytes(TrafficClass::coherence);
  EXPECT_EQ(global(0, kStore).cycles, 7U);  // 4 + 0 + 3
  EXPECT_EQ(rig.mesh->bytes(TrafficClass::coherence) - before, 8 + 16 + 2U);
  EXPECT_EQ(sticky_readers(), 0U);
  EXPECT_EQ(global(0, kStore).cycles, 5U);  // the own tile's
}

TEST_F(Detector, ANonSpeculativeQuestionIsShort) {
  Attempt* gone = reader(core_of(18), 10);
  lose(18);
  rig.commit(gone);
  EXPECT_EQ(global(0, kStore).cycles, 6U);  // 3 + 3
}

TEST_F(Detector, TheRequesterWaitsForTheRollbackOfVictimsThatWroteTheLine) {
  for (const bool wrote : {true, false}) {
    Attempt* victim = accessor(1, 30, wrote);
    Attempt* shorter = writer(2, 31);
    victim->undo.resize(10);
    shorter->undo.resize(3);
    Attempt* self = rig.begin(0, 20);
    EXPECT_EQ(tile(0, kStore).cycles, 5 + 2 + (wrote ? 10U : 3U) * kRollbackCyclesPerStore);
    rig.commit(self);
  }
}

class FreeChecks : public Detector {
 protected:
  FreeChecks()
      : Detector([] {
          Config c;
          c.conflict.free_checks = true;
          return c;
        }()) {}
};

TEST_F(FreeChecks, TakeNeitherCyclesNorMessagesAndFindTheSame) {
  rig.begin(core_of(0), 20);
  reader(core_of(0, 1), 10);
  reader(core_of(18), 11);
  Attempt* late = reader(core_of(18, 1), 30);
  lose(18);
  EXPECT_EQ(tile(0, kStore).cycles, 0U);
  EXPECT_EQ(global(0, kStore).cycles, 0U);
  EXPECT_FALSE(rig.is_live(late));
  EXPECT_EQ(rig.mesh->bytes(TrafficClass::coherence), 0U);
}

TEST_F(FreeChecks, AHitThatItsCanaryDoesNotCoverTakesNoLongerThanOneThatItDoes) {
  Attempt* writer = rig.begin(core_of(18), 10);
  rig.use(core_of(18), kLine, kStore, next().value);
  rig.begin(core_of(0), 20);
  rig.use(core_of(0), kLine, kLoad, next().value);  // its tile's L2 has the line, with the writer's canary
  rig.commit(writer);
  const std::uint64_t bytes = rig.mesh->bytes(TrafficClass::coherence);
  const auto latency = [&](std::uint32_t core, Timestamp timestamp) {
    rig.begin(core, timestamp);
    const Cycle asked = next();
    return rig.use(core, kLine, kLoad, asked.value).cycle - asked;
  };
  const auto covered = latency(core_of(0, 1), 30);
  EXPECT_EQ(latency(core_of(0, 2), 5), covered);
  EXPECT_EQ(rig.mesh->bytes(TrafficClass::coherence), bytes);
}

// ---- Canaries ----

TEST_F(Detector, AHitNeedsAGlobalCheckAtOrBelowALiveCanary) {
  rig.begin(0, 20);
  EXPECT_FALSE(tile(0, kLoad, kMinVirtualTime).needs_global);
  EXPECT_FALSE(tile(0, kLoad, at(19)).needs_global);
  EXPECT_TRUE(tile(0, kLoad, at(20)).needs_global);
  EXPECT_TRUE(tile(0, kStore, at(21)).needs_global);
  EXPECT_TRUE(tile(0, kLoad, kMaxVirtualTime).needs_global);
  EXPECT_TRUE(tile(1, kLoad, at(1)).needs_global);  // non-speculative: before all attempts
  EXPECT_FALSE(tile(1, kLoad, kMinVirtualTime).needs_global);
  rig.units.gvt = at(21);
  EXPECT_TRUE(tile(1, kLoad, at(21)).needs_global);
  EXPECT_FALSE(tile(1, kLoad, at(20)).needs_global);  // the canary's attempt has committed
}

TEST_F(Detector, AnUncoveredHitIsLeftToTheGlobalCheck) {
  Attempt* late = writer(1, 30);
  rig.begin(0, 20);
  const CheckResult r = tile(0, kStore, at(25));
  EXPECT_TRUE(r.needs_global);
  EXPECT_EQ(r.cycles, 0U);
  EXPECT_TRUE(rig.is_live(late));
}

TEST_F(Detector, TheCanaryIsTheLatestOfOtherTilesEarlierAccessors) {
  rig.begin(core_of(0), 20);
  EXPECT_EQ(global(0, kStore).canary, kMinVirtualTime);
  reader(core_of(0, 1), 19);  // of the own tile: every hit is checked against it
  EXPECT_EQ(global(0, kStore).canary, kMinVirtualTime);
  writer(core_of(1, 0), 11);
  reader(core_of(1, 1), 12);
  writer(core_of(2, 0), 10);
  const std::uint64_t holders = bit(1) | bit(2);
  EXPECT_EQ(global(0, kLoad, holders).canary, at(11));
  EXPECT_EQ(global(0, kStore, holders).canary, at(12));
  // A load in a tile that may go on to write: readers count, earlier or later.
  EXPECT_EQ(global(0, kLoad, holders, true).canary, at(12));
  reader(core_of(2, 1), 35);
  EXPECT_EQ(global(0, kLoad, holders, true).canary, at(35));
  EXPECT_EQ(global(0, kLoad, holders).canary, at(11));
}

// ---- Exclusive lines ----

TEST_F(Detector, OnlyNonSpeculativeLoadsThatMeetNobodyGetALineExclusive) {
  Attempt* self = rig.begin(0, 20);
  EXPECT_FALSE(global(0, kLoad).exclusive);
  EXPECT_FALSE(tile(0, kLoad).exclusive);
  EXPECT_TRUE(global(4, kLoad).exclusive);
  EXPECT_TRUE(tile(4, kLoad).exclusive);
  rig.commit(self);
  Attempt* other = reader(core_of(18), 10);
  EXPECT_TRUE(global(0, kLoad).exclusive);
  lose(18);
  EXPECT_FALSE(global(0, kLoad).exclusive);  // a later write must find the reader
  rig.commit(other);
  EXPECT_FALSE(global(0, kLoad).exclusive);  // a load does not ask it
  global(0, kStore);
  EXPECT_TRUE(global(0, kLoad).exclusive);
  reader(core_of(0, 1), 10);  // found by every tile check
  lose(0);
  EXPECT_TRUE(global(0, kLoad).exclusive);
  EXPECT_FALSE(global(core_of(1), kLoad).exclusive);
}

// ---- Sticky bits ----

TEST_F(Detector, ATileThatLosesALineIsRememberedForItsAccessors) {
  lose(1);
  EXPECT_EQ(sticky_readers() | sticky_writers(), 0U);
  reader(core_of(1), 10);
  writer(core_of(2), 11);
  rig.detector.on_lose(TileId{1}, LineAddr{kLine.value + 1}, false);
  EXPECT_EQ(rig.detector.sticky().entries(), 0U);
  lose(1, true);  // still a sharer: the directory knows its readers
  EXPECT_EQ(sticky_readers(), 0U);
  lose(2, true);
  EXPECT_EQ(sticky_writers(), bit(2));
  lose(1);
  EXPECT_EQ(sticky_readers(), bit(1));
  reader(core_of(2, 1), 12);
  tile(core_of(2), kStore);
  lose(2, true);
  EXPECT_EQ(sticky_readers(), bit(1));
}

TEST_F(Detector, ACheckClearsTheBitsOfTilesItAskedInVain) {
  Attempt* r = reader(core_of(1), 10);
  Attempt* w = writer(core_of(2), 11);
  lose(1);
  lose(2);
  rig.begin(0, 20);
  global(0, kStore);
  EXPECT_EQ(sticky_readers(), bit(1));
  EXPECT_EQ(sticky_writers(), bit(2));
  rig.commit(r);
  rig.commit(w);
  global(0, kLoad);
  EXPECT_EQ(sticky_readers(), bit(1));  // not asked
  EXPECT_EQ(sticky_writers(), 0U);
  global(0, kStore);
  EXPECT_EQ(rig.detector.sticky().entries(), 0U);
}

TEST_F(Detector, TheRequestersOwnSetsKeepItsTilesBits) {
  writer(0, 20);
  lose(0);
  global(0, kLoad);
  EXPECT_EQ(sticky_writers(), bit(0));
}

TEST_F(Detector, LinesThatLeaveTheLlcKeepTheirBitsAndAreCounted) {
  reader(core_of(1), 10);
  lose(1);
  rig.detector.on_llc_evict(kLine);
  rig.detector.on_llc_evict(LineAddr{kLine.value + 1});
  EXPECT_EQ(sticky_readers(), bit(1));
  EXPECT_EQ(rig.detector.sticky().counters().overflowed, 1U);
  EXPECT_EQ(rig.detector.sticky().in_overflow(), 1U);
  rig.begin(0, 5);
  EXPECT_TRUE(global(0, kStore).disturbed);  // and the line is back
  EXPECT_EQ(rig.detector.sticky().in_overflow(), 0U);
  EXPECT_EQ(rig.detector.sticky().counters().overflow_peak, 1U);
}

// ---- The rest ----

TEST_F(Detector, LaterAccessorsAreFoundInHoldersStickyTilesAndTheOwnOne) {
  Attempt* own = reader(core_of(0), 30);
  Attempt* far = writer(core_of(18), 31);
  reader(core_of(18, 1), 10);
  Attempt* sharer = reader(core_of(2), 32);
  rig.mesi.access(CoreId{core_of(2)}, kLine, kLoad, next());
  lose(18);
  std::vector<Attempt*> found;
  rig.detector.later_accessors(TileId{0}, kLine, at(20), found);
  EXPECT_EQ(found, (std::vector<Attempt*>{own, sharer, far}));
}

TEST_F(Detector, ATileHoldsMoreAttemptsThanItsQueuesHaveEntries) {
  std::vector<Attempt*> all;
  for (std::uint32_t i = 0; i < 300; ++i) {
    all.push_back(reader(core_of(0, 1), 100 + i));
    rig.finish(all.back());
  }
  rig.begin(0, 20);
  EXPECT_EQ(tile(0, kStore).cycles, 5 + 300U);
  EXPECT_EQ(rig.units.aborted, all);
}

TEST_F(Detector, StatisticsCountWhatHappened) {
  StatRegistry registry;
  rig.detector.register_stats(registry);
  const auto count = [&](const char* name) { return *registry.find(name)->counter; };
  rig.begin(0, 20);
  reader(core_of(0, 1), 10);
  reader(core_of(18), 30);
  lose(18);
  tile(0, kStore);
  global(0, kStore);
  EXPECT_EQ(count("tile.0.conflict.tile_checks"), 1U);
  EXPECT_EQ(count("tile.0.conflict.global_checks"), 1U);
  EXPECT_EQ(count("tile.0.conflict.tiles_asked"), 1U);
  EXPECT_EQ(count("tile.0.conflict.timestamps"), 2U);
  EXPECT_EQ(count("tile.18.conflict.timestamps"), 1U);
  EXPECT_EQ(count("tile.0.conflict.conflicts"), 1U);
  EXPECT_EQ(count("tile.18.conflict.false_positives"), 0U);
  EXPECT_EQ(count("chip.conflict.sticky_set"), 1U);
}

class FullFilters : public Detector {
 protected:
  FullFilters()
      : Detector([] {
          Config c;
          c.conflict.bloom_bits = 64;
          c.conflict.bloom_ways = 1;
          return c;
        }()) {}
};

TEST_F(FullFilters, MeetEverybodyAndSayThatItWasForNothing) {
  StatRegistry registry;
  rig.detector.register_stats(registry);
  Attempt* full = rig.begin(1, 30);
  for (std::uint64_t i = 1; i <= 1000; ++i) rig.detector.record(CoreId{1}, LineAddr{kLine.value + i}, true);
  rig.begin(0, 20);
  EXPECT_TRUE(tile(0, kLoad).disturbed);
  EXPECT_FALSE(rig.is_live(full));
  EXPECT_EQ(*registry.find("tile.0.conflict.false_positives")->counter, 1U);
}

}  // namespace
}  // namespace rubato::chip
