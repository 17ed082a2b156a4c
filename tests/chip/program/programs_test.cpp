// Programs alone and side by side: whose cores are whose, in which order phases follow each other, what
// counts, and with what a run ends (K80 to K82).
// SPDX-License-Identifier: MIT
#include "chip/program/programs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/error.hpp"
#include "chip/program/markers.hpp"
#include "tests/chip/program/rig.hpp"

namespace rubato::chip {
namespace {

using test::ProgramRig;
using ::testing::HasSubstr;
using Phase = Program::Phase;
using AfterEnd = Programs::AfterEnd;

std::string refusal_of(const std::vector<std::uint32_t>& cores, const std::vector<ImageSymbol>& symbols,
                       const std::function<void(Config&)>& change) {
  try {
    const ProgramRig rig(cores, 8, symbols, change);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(Programs, AloneHasTheWholeChipOrIsNoProgramOfTasks) {
  EXPECT_FALSE(ProgramRig({8}).programs->is_shared());
  EXPECT_TRUE(ProgramRig({6}).programs->is_shared());
  EXPECT_TRUE(ProgramRig({4, 4}).programs->is_shared());
  const std::vector<ImageSymbol> tasks{{std::string(kTaskRegionSymbol), kImageEntry}};
  const auto as_it_is = [](Config&) {};
  EXPECT_EQ(refusal_of({8}, tasks, as_it_is), "");
  EXPECT_THAT(refusal_of({6}, tasks, as_it_is), HasSubstr("program 1 (image) has tasks"));
  EXPECT_THAT(refusal_of({4, 4}, tasks, as_it_is), HasSubstr("start it alone"));
  EXPECT_EQ(refusal_of({8}, tasks, [](Config& c) { c.core.model = "window"; }), "");
}

TEST(Programs, RefuseToWatchContentionOnWindowCores) {
  const auto watched = [](Config& c) {
    c.core.model = "window";
    c.run.contention = "true";
  };
  EXPECT_THAT(refusal_of({8}, {}, watched), HasSubstr("core.model=inorder"));
}

TEST(Programs, RefuseChecksThatAreOfOneProgramWithTasks) {
  EXPECT_THAT(refusal_of({4, 4}, {}, [](Config& c) { c.run.check_replay = true; }),
              HasSubstr("--check-replay"));
  EXPECT_THAT(refusal_of({4, 4}, {}, [](Config& c) { c.run.check_ties = true; }), HasSubstr("--check-ties"));
  EXPECT_THAT(refusal_of({4, 4}, {}, [](Config& c) { c.run.contention = "true"; }),
              HasSubstr("run.contention"));
  EXPECT_EQ(refusal_of({8}, {}, [](Config& c) { c.run.contention = "true"; }), "");
  EXPECT_EQ(refusal_of({4, 4}, {}, [](Config& c) { c.run.contention = "auto"; }), "");
}

TEST(Programs, KnowWhoseACoreIsAndGiveThoseThatAreLeftToTheFirst) {
  ProgramRig rig({4, 2});
  const auto number = [&](std::uint32_t core) { return rig.programs->of(CoreId{core}).number; };
  EXPECT_EQ(number(0), 0u);
  EXPECT_EQ(number(3), 0u);
  EXPECT_EQ(number(4), 1u);
  EXPECT_EQ(number(5), 1u);
  EXPECT_EQ(number(6), 0u);
  EXPECT_FALSE(rig.programs->of(CoreId{6}).has(CoreId{6}));
  EXPECT_EQ(rig[1].own(CoreId{5}), CoreId{1});
}

TEST(ProgramsDeathTest, HaveWholeTiles) { EXPECT_DEATH(ProgramRig({3, 4}), "whole tiles"); }

TEST(Programs, BeginDetailWhenAllAreAtTheirRegions) {
  ProgramRig rig({2, 2, 2});
  Programs& programs = *rig.programs;
  EXPECT_EQ(&programs.next_in_fast_forward(), &rig[0]);
  programs.arrive(rig[0], nullptr);
  EXPECT_FALSE(programs.is_detail_due());
  EXPECT_EQ(&programs.next_in_fast_forward(), &rig[1]);
  // The second one ends before its region: the others do not wait for it.
  EXPECT_EQ(programs.finish(rig[1], {}), AfterEnd::others_follow);
  EXPECT_FALSE(programs.is_detail_due());
  programs.arrive(rig[2], &rig.main_thread(2));
  EXPECT_TRUE(programs.is_detail_due());
  const std::vector<Program*> those = programs.begin_detail();
  EXPECT_EQ(those, (std::vector<Program*>{&rig[0], &rig[2]}));
  EXPECT_TRUE(rig[0].is_in_detail() && rig[2].is_in_detail() && !rig[1].is_in_detail());
  EXPECT_EQ(rig[2].caller, &rig.main_thread(2));
  EXPECT_FALSE(programs.is_detail_due());
  EXPECT_FALSE(rig[1].was_in_detail);
}

TEST(Programs, GoOnBehindTheirRegionsWhenNoneIsInDetail) {
  ProgramRig rig({4, 4});
  Programs& programs = *rig.programs;
  for (const auto& program : programs) programs.arrive(*program, nullptr);
  programs.begin_detail();
  EXPECT_FALSE(programs.leave_detail(rig[1], Cycle{50}));
  EXPECT_EQ(rig[1].phase, Phase::behind);
  EXPECT_EQ(rig[1].left_at, Cycle{50});
  EXPECT_TRUE(programs.leave_detail(rig[0], Cycle{70}));
  EXPECT_EQ(&programs.next_in_fast_forward(), &rig[0]);
  EXPECT_EQ(programs.finish(rig[0], {}), AfterEnd::others_follow);
  EXPECT_EQ(&programs.next_in_fast_forward(), &rig[1]);
  EXPECT_EQ(programs.finish(rig[1], {}), AfterEnd::run_ends);
  EXPECT_TRUE(programs.are_all_over());
}

TEST(Programs, AloneComesToItsRegionAgain) {
  ProgramRig rig({8});
  Programs& programs = *rig.programs;
  programs.arrive(rig[0], nullptr);
  EXPECT_TRUE(programs.is_detail_due());
  programs.begin_detail();
  EXPECT_TRUE(programs.leave_detail(rig[0], Cycle{50}));
  EXPECT_EQ(rig[0].phase, Phase::ahead);
  EXPECT_EQ(&programs.next_in_fast_forward(), &rig[0]);
}

TEST(Programs, ThatEndInDetailKeepItOpenUntilTheirCoresHaveLeft) {
  ProgramRig rig({4, 4});
  Programs& programs = *rig.programs;
  for (const auto& program : programs) programs.arrive(*program, nullptr);
  programs.begin_detail();
  EXPECT_EQ(programs.finish(rig[0], {}), AfterEnd::cores_leave);
  EXPECT_EQ(programs.finish(rig[0], {ExitCode::guest_fault, 0, "later", {}}), AfterEnd::nothing);
  EXPECT_EQ(programs.finish(rig[1], {}), AfterEnd::cores_leave);
  EXPECT_FALSE(programs.leave_detail(rig[0], Cycle{10}));
  EXPECT_EQ(rig[0].phase, Phase::over);  // and not behind
  EXPECT_TRUE(programs.leave_detail(rig[1], Cycle{12}));
  EXPECT_TRUE(programs.are_all_over());
  EXPECT_EQ(programs.worst_outcome().code, ExitCode::success);
}

TEST(Programs, EndARunWithTheWorstOutcomeAndItsProgram) {
  ProgramRig rig({2, 2, 2});
  rig.programs->finish(rig[0], {ExitCode::check_failed, 3, "exited with 3", {}});
  rig.programs->finish(rig[1], {ExitCode::no_progress, 0, "stuck", "details"});
  rig.programs->finish(rig[2], {});
  const RunOutcome worst = rig.programs->worst_outcome();
  EXPECT_EQ(worst.code, ExitCode::no_progress);
  EXPECT_EQ(worst.sentence, "program 2 (image): stuck");
  EXPECT_EQ(worst.details, "details");
}

TEST(Programs, AreCountedOnceAndTheRunIsDoneWhenAllInDetailAre) {
  ProgramRig rig({2, 2, 2});
  Programs& programs = *rig.programs;
  programs.finish(rig[2], {});  // it does not count
  programs.arrive(rig[0], nullptr);
  programs.arrive(rig[1], nullptr);
  programs.begin_detail();
  std::map<const Program*, std::uint64_t> executed{{&rig[0], 100}, {&rig[1], 99}};
  const auto of = [&](const Program& program) { return executed.at(&program); };
  EXPECT_FALSE(programs.count_those_done(100, Cycle{5}, of));
  executed = {{&rig[0], 200}, {&rig[1], 120}};
  EXPECT_TRUE(programs.count_those_done(100, Cycle{9}, of));
  EXPECT_EQ(rig[0].cycles, 5u);
  EXPECT_EQ(rig[0].instructions, 100u);
  EXPECT_EQ(rig[1].cycles, 9u);
  EXPECT_EQ(rig[1].instructions, 120u);
}

TEST(Programs, HaveStatisticsOfTheirOwnOnlySideBySide) {
  StatRegistry alone, both;
  ProgramRig({8}).programs->register_stats(alone);
  ProgramRig rig({4, 4});
  rig.programs->register_stats(both);
  const auto names = [](const StatRegistry& registry) {
    std::vector<std::string> all;
    for (const auto& stat : registry.stats())
      if (stat.name.find("disk.") == std::string::npos) all.push_back(stat.name);  // each has a disk
    return all;
  };
  EXPECT_TRUE(names(alone).empty());
  EXPECT_EQ(names(both), (std::vector<std::string>{"program.1.cycles", "program.1.instructions",
                                                   "program.2.cycles", "program.2.instructions"}));
}

TEST(Markers, OpenAndCloseByNameAndRefuseWhatDoesNotNest) {
  ProgramRig rig({4, 4});
  Markers markers;
  EXPECT_EQ(markers.mark(rig[0], true, "read", true).name, "read");
  EXPECT_EQ(rig[0].open_regions, (std::set<std::string>{"read"}));
  EXPECT_EQ(markers.mark(rig[0], true, "read", true).error, "which has not ended");
  EXPECT_EQ(markers.mark(rig[0], true, "write", true).error, "");  // they may overlap
  EXPECT_EQ(markers.mark(rig[0], false, "read", true).error, "");
  EXPECT_EQ(markers.mark(rig[0], false, "read", true).error, "which has not begun");
  EXPECT_EQ(rig[0].open_regions, (std::set<std::string>{"write"}));
  // Side by side a name is of one program.
  EXPECT_EQ(markers.mark(rig[1], true, "write", false).name, "2.write");
  EXPECT_EQ(rig[1].open_regions, (std::set<std::string>{"2.write"}));
}

TEST(Markers, HaveSixtyFourNames) {
  ProgramRig rig({8});
  Markers markers;
  for (int i = 0; i < 64; ++i) {
    const std::string name = std::to_string(i);
    EXPECT_EQ(markers.mark(rig[0], true, name, true).error, "");
    EXPECT_EQ(markers.mark(rig[0], false, name, true).error, "");
  }
  EXPECT_EQ(markers.mark(rig[0], true, "63", true).error, "");
  EXPECT_EQ(markers.mark(rig[0], true, "64", true).error, "but at most 64 names are possible");
}

}  // namespace
}  // namespace rubato::chip
