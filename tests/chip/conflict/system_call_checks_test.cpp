// Aborts by a system call before it takes effect (C18). The call finds the values that the abort restored.
// SPDX-License-Identifier: MIT
#include "chip/conflict/system_call_checks.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

#include "tests/chip/conflict/conflict_rig.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kPage = AddressSpace::kPageBytes;
constexpr Addr kData = 0x200000;
constexpr std::uint8_t kRw = Page::kRead | Page::kWrite;

/// Restores one word when it is asked for any abort.
struct RestoringUnits final : FakeUnits {
  using FakeUnits::FakeUnits;
  void abort(std::span<Attempt* const> victims, const AbortReason& reason, Cycle now) override {
    for (const Attempt* v : victims)
      for (const UndoEntry& entry : v->undo) memory->store(entry.address, entry.old_value);
    FakeUnits::abort(victims, reason, now);
  }
  AddressSpace* memory = nullptr;
};

struct SystemCalls : ::testing::Test {
  SystemCalls() : rig(Config{}), units(rig.detector), checks(rig.detector), user(memory) {
    units.memory = &memory;
    checks.attach(units);
    user.observe(&checks);
    memory.map(kData, 4 * kPage, kRw);
    memory.observe(&checks);
    checks.begin(CoreId{9}, Cycle{100});
  }
  Attempt* accessor(std::uint32_t core, Addr a, bool write) {
    Attempt* attempt = rig.begin(core, core + 10);
    rig.detector.record(CoreId{core}, line_of(a), write);
    return attempt;
  }
  Attempt* reader(std::uint32_t core, Addr a) { return accessor(core, a, false); }
  Attempt* writer(std::uint32_t core, Addr a) { return accessor(core, a, true); }

  ConflictRig rig;
  RestoringUnits units;
  SystemCallChecks checks;
  AddressSpace memory;
  UserMemory user;
};

TEST_F(SystemCalls, EndsReservationsOnWhatIsWrittenOrMappedAnewWithoutSpeculationToo) {
  std::vector<std::pair<LineAddr, LineAddr>> ended;
  checks.attach([&](LineAddr first, LineAddr last) { ended.emplace_back(first, last); });
  const std::uint64_t value = 1;
  EXPECT_TRUE(user.put(kData + 60, value));
  EXPECT_TRUE(user.get<std::uint64_t>(kData + 200).has_value());
  memory.discard(kData, kPage);
  checks.end();
  EXPECT_TRUE(user.put(kData, value)) << "of a call in fast-forward";
  EXPECT_EQ(ended, (std::vector<std::pair<LineAddr, LineAddr>>{
                       {line_of(kData), line_of(kData + 64)}, {line_of(kData), line_of(kData + kPage - 1)}}));
}

TEST_F(SystemCalls, AReadAbortsWritersOfItsLines) {
  reader(0, kData + 64);
  writer(4, kData + 128);  // the line behind
  Attempt* first = writer(8, kData + 8);
  Attempt* last = writer(2, kData + 120);
  char buffer[100];
  EXPECT_TRUE(user.read(kData + 20, buffer, sizeof buffer));
  EXPECT_EQ(units.aborted, (std::vector<Attempt*>{last, first})) << "by tile";
  EXPECT_EQ(units.reasons.size(), 1u) << "together: each may depend on another";
  EXPECT_EQ(units.reasons[0].cause, AbortCause::conflict);
  EXPECT_EQ(units.reasons[0].by, CoreId{9});
}

TEST_F(SystemCalls, AWriteAbortsReadersAndWriters) {
  Attempt* r = reader(0, kData + 64);
  Attempt* w = writer(4, kData + 64);
  reader(8, kData);
  EXPECT_TRUE(user.put<std::uint64_t>(kData + 64, 1));
  EXPECT_EQ(units.aborted, (std::vector<Attempt*>{r, w}));
}

TEST_F(SystemCalls, ACallSeesWhatIsCommitted) {
  Attempt* w = writer(0, kData);
  w->undo.push_back({kData, 0x6f6c6c6568});  // "hello"
  memory.store<std::uint64_t>(kData, 0x646c726f77);
  EXPECT_EQ(user.get<std::uint64_t>(kData), 0x6f6c6c6568u);
  Attempt* v = writer(1, kData);
  v->undo.push_back({kData, 0x6f6c6c6568});
  memory.store<std::uint64_t>(kData, 0);
  EXPECT_EQ(user.string(kData, 100), "hello") << "the string seemed empty before the abort";
}

TEST_F(SystemCalls, AStringReachesFurtherLinesOnlyIfItIsSoLong) {
  writer(0, kData + 64);
  memory.store<std::uint8_t>(kData + 10, 0);
  std::memset(memory.host(kData), 'x', 10);
  EXPECT_EQ(user.string(kData, 4096)->size(), 10u);
  EXPECT_TRUE(units.reasons.empty());
  std::memset(memory.host(kData), 'x', 70);
  EXPECT_EQ(user.string(kData, 4096)->size(), 70u);
  EXPECT_EQ(units.reasons.size(), 1u);
}

TEST_F(SystemCalls, ARefusedAccessAbortsNobody) {
  writer(0, kData + 4 * kPage - 8);
  char buffer[100];
  EXPECT_FALSE(user.read(kData + 4 * kPage - 50, buffer, sizeof buffer));
  EXPECT_TRUE(units.reasons.empty());
}

TEST_F(SystemCalls, AttemptsAboutToCommitCountAsCommitted) {
  Attempt* decided = writer(0, kData);
  Attempt* open = writer(1, kData);
  for (Attempt* a : {decided, open}) {
    rig.finish(a);
    units.pending.insert(a);  // what a tile can know says nothing about the outcome
  }
  units.decided.insert(decided);
  user.get<int>(kData);
  EXPECT_EQ(units.aborted, (std::vector<Attempt*>{open}));
  user.get<int>(kData);
  EXPECT_EQ(units.reasons.size(), 1u) << "nobody is left to abort";
}

TEST_F(SystemCalls, NothingIsCheckedOutsideCalls) {
  writer(0, kData);
  checks.end();
  user.put(kData, 1);
  memory.unmap(kData, kPage);
  EXPECT_TRUE(units.reasons.empty());
}

TEST_F(SystemCalls, AChangeOfPagesAbortsAllThatAccessedThem) {
  using Change = void (*)(AddressSpace&);
  const Change changes[] = {
      [](AddressSpace& m) { m.unmap(kData + kPage, 2 * kPage); },
      [](AddressSpace& m) { m.map(kData + kPage, 2 * kPage, kRw); },
      [](AddressSpace& m) { m.protect(kData + kPage, 2 * kPage, Page::kRead); },
      [](AddressSpace& m) { m.discard(kData + kPage, 2 * kPage); },
      [](AddressSpace& m) {
        m.map(kData + 16 * kPage, 2 * kPage, kRw);
        m.move_contents(kData + kPage, kData + 16 * kPage, 2 * kPage);
      },
  };
  for (const Change& change : changes) {
    memory.map(kData, 4 * kPage, kRw);
    units.reasons.clear();
    Attempt* before = writer(0, kData + kPage - 8);
    Attempt* r = reader(4, kData + kPage);
    Attempt* w = writer(8, kData + 3 * kPage - 8);
    Attempt* behind = reader(12, kData + 3 * kPage);
    w->undo.push_back({kData + 3 * kPage - 8, 77});
    change(memory);
    EXPECT_EQ(units.aborted, (std::vector<Attempt*>{r, w}));
    ASSERT_EQ(units.reasons.size(), 1u);
    EXPECT_EQ(units.reasons[0].cause, AbortCause::mapping);
    rig.commit(before);
    rig.commit(behind);
  }
  EXPECT_EQ(memory.load<std::uint64_t>(kData + 18 * kPage - 8), 77u) << "the restored word was moved";
}

TEST_F(SystemCalls, MappingFreePagesAbortsNobody) {
  // A wild speculative access is an exception; its line is in no set, but a neighbour's may be.
  writer(0, kData + 4 * kPage - 8);
  memory.map(kData + 4 * kPage, kPage, kRw);
  EXPECT_TRUE(units.reasons.empty());
}

}  // namespace
}  // namespace rubato::chip
