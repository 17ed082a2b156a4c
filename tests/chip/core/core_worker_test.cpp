// SPDX-License-Identifier: MIT
#include "chip/core/core_worker.hpp"

#include <gtest/gtest.h>

#include "tests/chip/core/machine.hpp"

namespace rubato::chip::test {
namespace {

constexpr Addr kStackLow = kData, kStackHigh = kData + 0x2000;

struct CoreWorkerTest : testing::Test {
  CoreWorkerTest() {
    worker.thread = &thread;
    worker.stack_low = kStackLow;
    worker.stack_high = kStackHigh;
    for (unsigned r = 1; r < 32; ++r) worker.regs.x[r] = 1000 + r;
    worker.regs.x[reg::sp] = kStackHigh - 24;
    worker.regs.pc = kCode;
    task.descriptor.function = kCode + 64;
    task.descriptor.argument_count = 2;
    task.descriptor.arguments = {7, 8, 9};
  }

  Machine machine;
  Thread thread;
  Worker worker;
  DispatchedTask task;
  CoreWorker core{*machine.pipeline};
};

TEST_F(CoreWorkerTest, ATaskBeginsWithTheWorkersStackAndThreadAndItsOwnArguments) {
  core.take(worker, Cycle{0});
  HartState hart;
  core.begin_task(task, hart);
  HartState expected;
  expected.pc = kCode + 64;
  expected.x[reg::ra] = kCode + 4;
  expected.x[reg::sp] = kStackHigh - 32;
  for (const unsigned r : reg::kept) expected.x[r] = 1000 + r;
  expected.x[reg::a0] = 7;
  expected.x[reg::a0 + 1] = 8;
  EXPECT_EQ(hart.x, expected.x);
  EXPECT_EQ(hart.pc, expected.pc);
}

TEST_F(CoreWorkerTest, ASpeculativeTaskBeginsItsStackAtALine) {
  core.take(worker, Cycle{0});
  task.speculative = true;
  HartState hart;
  core.begin_task(task, hart);
  EXPECT_EQ(hart.x[reg::sp], kStackHigh - kLineBytes);
}

TEST_F(CoreWorkerTest, AWorkersStackIsThePipelinesOwnUntilItIsGivenUp) {
  const MemoryRights& rights = machine.pipeline->rights();
  core.take(worker, Cycle{0});
  EXPECT_EQ(core.thread(), &thread);
  EXPECT_EQ(rights.own_stack(), std::pair(kStackLow, kStackHigh));
  const Worker given = core.give_up(Cycle{0});
  EXPECT_EQ(given.thread, &thread);
  EXPECT_EQ(given.regs.x, worker.regs.x);
  EXPECT_EQ(given.stack_low, kStackLow);
  EXPECT_EQ(given.stack_high, kStackHigh);
  EXPECT_FALSE(core.is_there());
  EXPECT_EQ(rights.own_stack(), std::pair(Addr{0}, Addr{0}));
}

}  // namespace
}  // namespace rubato::chip::test
