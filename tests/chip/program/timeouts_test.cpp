// Waits for a time end at their cycle, and those that ended otherwise are no work.
// SPDX-License-Identifier: MIT
#include "chip/program/timeouts.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/chip/program/rig.hpp"

namespace rubato::chip {
namespace {

using test::ProgramRig;

constexpr std::uint64_t kNanosleep = 101;
constexpr Addr kTimespec = kImageEntry + 0x400;

struct TimeoutsRig : ProgramRig {
  TimeoutsRig() : ProgramRig({4, 4}) {
    for (const auto& program : *programs) programs->arrive(*program, nullptr);
    programs->begin_detail();
  }
  void sleep(std::size_t program, Thread& thread, std::uint64_t nanoseconds) {
    (*this)[program].memory.store<std::uint64_t>(kTimespec, 0);
    (*this)[program].memory.store<std::uint64_t>(kTimespec + 8, nanoseconds);
    ASSERT_EQ(call((*this)[program], thread, kNanosleep, {kTimespec, 0}), SyscallOutcome::blocked);
    timeouts.schedule((*this)[program]);
  }
  Cycle cycle_of(std::uint64_t nanoseconds) const {
    return Cycle{(nanoseconds * config.chip.frequency_mhz + 999) / 1000};
  }

  Timeline timeline;
  std::vector<std::pair<std::uint32_t, Cycle>> expired;
  Timeouts timeouts{timeline, *programs, config.chip.frequency_mhz, [this](Program& program, Cycle at) {
                      expired.emplace_back(program.number, at);
                      now = at;
                      program.process.expire_timeouts();
                      timeouts.schedule(program);
                    }};
};

using Expired = std::vector<std::pair<std::uint32_t, Cycle>>;

TEST(Timeouts, EndWaitsAtTheCycleThatTheirTimeIsAndNotBefore) {
  TimeoutsRig rig;
  EXPECT_FALSE(rig.timeouts.has_work());
  rig.sleep(1, rig.main_thread(1), 1001);
  EXPECT_TRUE(rig.timeouts.has_work());
  while (rig.timeline.step()) {
  }
  EXPECT_EQ(rig.expired, (Expired{{1, rig.cycle_of(1001)}}));
  EXPECT_EQ(rig.main_thread(1).state, ThreadState::runnable);
  EXPECT_FALSE(rig.timeouts.has_work());
}

TEST(Timeouts, ScheduleTheEarliestWaitOfAProgramOnly) {
  TimeoutsRig rig;
  Thread& other = rig.start_thread(0);
  rig.sleep(0, rig.main_thread(0), 9000);
  EXPECT_EQ(rig.timeline.pending(), 1u);
  rig.timeouts.schedule(rig[0]);
  EXPECT_EQ(rig.timeline.pending(), 1u);  // it has been scheduled
  rig.sleep(0, other, 500);
  EXPECT_EQ(rig.timeline.pending(), 2u);
  while (rig.timeline.step()) {
  }
  // The first event schedules the later wait again; the event that was there already finds nothing due.
  ASSERT_GE(rig.expired.size(), 2u);
  EXPECT_EQ(rig.expired.front(), (std::pair{0u, rig.cycle_of(500)}));
  EXPECT_EQ(rig.expired.back(), (std::pair{0u, rig.cycle_of(9000)}));
  EXPECT_EQ(rig.main_thread(0).state, ThreadState::runnable);
}

TEST(Timeouts, OfAProgramThatHasLeftDetailAreNoWork) {
  TimeoutsRig rig;
  rig.sleep(0, rig.main_thread(0), 700);
  EXPECT_TRUE(rig.timeouts.has_work());
  rig.programs->leave_detail(rig[0], Cycle{10});
  EXPECT_FALSE(rig.timeouts.has_work());  // although its event is still there
  EXPECT_FALSE(rig.timeline.empty());
  while (rig.timeline.step()) {
  }
  EXPECT_TRUE(rig.expired.empty());
  EXPECT_EQ(rig.main_thread(0).state, ThreadState::blocked);
}

TEST(Timeouts, ThatNanosecondsCannotSayNeverCome) {
  TimeoutsRig rig;
  rig[0].memory.store<std::uint64_t>(kTimespec, std::uint64_t{1} << 55);  // seconds
  rig[0].memory.store<std::uint64_t>(kTimespec + 8, 0);
  rig.call(rig[0], rig.main_thread(0), kNanosleep, {kTimespec, 0});
  rig.timeouts.schedule(rig[0]);
  EXPECT_TRUE(rig.timeline.empty());
}

}  // namespace
}  // namespace rubato::chip
