// Reports of a window core to its observers, without a core: entries commit by hand.
// SPDX-License-Identifier: MIT
#include "chip/core/window/window_reports.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rubato::chip {
namespace {

using isa::InsnClass;

struct Instructions final : InstructionObserver {
  void on_thread(CoreId, std::uint32_t) override {}
  void on_instruction(const ExecutedInstruction& executed) override {
    seen.push_back({executed.pc, executed.address, executed.registers[5], executed.has_access});
  }
  struct Seen {
    Addr pc, address;
    std::uint64_t x5;
    bool has_access;
  };
  std::vector<Seen> seen;
};

struct Executions final : ExecutionObserver {
  void on_begin(CoreId, const HartState&) override {}
  void on_load(CoreId, Addr address, unsigned bytes, std::uint64_t value) override {
    seen.push_back("load " + std::to_string(address) + " " + std::to_string(bytes) + " " +
                   std::to_string(value));
  }
  void on_store(CoreId, Addr address, unsigned bytes) override {
    seen.push_back("store " + std::to_string(address) + " " + std::to_string(bytes));
  }
  void on_atomic(CoreId, Addr, unsigned, std::uint64_t) override { seen.push_back("atomic"); }
  void on_store_conditional(CoreId, Addr, unsigned, bool) override { seen.push_back("sc"); }
  void on_counter(CoreId, std::uint64_t value) override {
    seen.push_back("counter " + std::to_string(value));
  }
  void on_task_read(CoreId, unsigned, std::uint64_t) override { seen.push_back("read"); }
  void on_handler(CoreId, const TaskDescriptor&) override { seen.push_back("handler"); }
  void on_kernel_exit(CoreId, const HartState&) override { seen.push_back("exit"); }
  std::vector<std::string> seen;
};

struct NoMemory final : MemorySystem {
  AccessResult access(CoreId, LineAddr, AccessKind, Cycle) override { return {}; }
  void warm(CoreId, LineAddr, AccessKind) override {}
  void forget(LineAddr, LineAddr) override {}
};

struct WindowReportsTest : testing::Test {
  static Config one_core() {
    Config config;
    config.chip.cores = 1;
    return resolve(config);
  }
  WindowEntry entry(InsnClass cls, std::uint64_t value, Addr address = 0, unsigned bytes = 0) {
    WindowEntry e{};
    e.insn.cls = cls;
    e.insn.rd = cls == InsnClass::store ? isa::Insn::kSink : 5;
    e.insn.bytes = static_cast<std::uint8_t>(bytes);
    e.pc = 0x1000;
    e.address = address;
    e.value = value;
    return e;
  }

  AddressSpace memory;
  isa::BlockCache blocks{memory};
  NoMemory system;
  L1Cache l1i{{16384, 8}}, l1d{{16384, 8}};
  PipelinePorts ports{&memory, &blocks, system, l1i, l1d};
  PipelineState state{CoreId{0}, one_core(), ports};
  WindowReports reports{state};
  Instructions instructions;
  Executions executions;
};

TEST_F(WindowReportsTest, WithoutAnObserverNoneIsWanted) {
  EXPECT_FALSE(reports.any());
  reports.commit(entry(InsnClass::load, 1, 0x80, 8));
  reports.execution(&ExecutionObserver::on_counter, std::uint64_t{3});
  state.ports.instructions = &instructions;
  EXPECT_TRUE(reports.any());
  state.ports.instructions = nullptr;
  state.ports.observer = &executions;
  EXPECT_TRUE(reports.any());
  EXPECT_TRUE(instructions.seen.empty());
  EXPECT_TRUE(executions.seen.empty());
}

TEST_F(WindowReportsTest, AnInstructionIsSeenWithTheRegistersOfItsCommit) {
  state.ports.instructions = &instructions;
  state.hart.x[5] = 7;
  reports.begin();
  state.hart.x[5] = 99;  // dispatch has gone on
  reports.commit(entry(InsnClass::store, 0, 0x80, 8));
  reports.commit(entry(InsnClass::int_alu, 8));
  ASSERT_EQ(instructions.seen.size(), 2U);
  EXPECT_EQ(instructions.seen[0].x5, 7U);
  EXPECT_TRUE(instructions.seen[0].has_access);
  EXPECT_EQ(instructions.seen[0].address, 0x80U);
  EXPECT_EQ(instructions.seen[1].x5, 8U);
  EXPECT_FALSE(instructions.seen[1].has_access);
  EXPECT_EQ(instructions.seen[1].address, 0U);
}

TEST_F(WindowReportsTest, ALoadIsSeenZeroExtendedAndAStoreWithItsBytes) {
  state.ports.observer = &executions;
  reports.commit(entry(InsnClass::load, ~std::uint64_t{0}, 128, 2));
  reports.commit(entry(InsnClass::load, 5, 136, 8));
  reports.commit(entry(InsnClass::store, 0, 144, 4));
  reports.commit(entry(InsnClass::int_alu, 1));
  EXPECT_EQ(executions.seen, (std::vector<std::string>{"load 128 2 65535", "load 136 8 5", "store 144 4"}));
}

TEST_F(WindowReportsTest, AnAccessThatWentAloneHasBeenReportedThen) {
  state.ports.observer = &executions;
  WindowEntry e = entry(InsnClass::load, 5, 128, 8);
  e.is_alone = true;
  reports.commit(e);
  EXPECT_TRUE(executions.seen.empty());
}

TEST_F(WindowReportsTest, ADoomedRunIsNotSeenByTheObserverOfExecution) {
  state.ports.observer = &executions;
  state.task.is_doomed = true;
  reports.commit(entry(InsnClass::load, 5, 128, 8));
  reports.execution(&ExecutionObserver::on_counter, std::uint64_t{3});
  EXPECT_TRUE(executions.seen.empty());
  state.task.is_doomed = false;
  reports.execution(&ExecutionObserver::on_counter, std::uint64_t{3});
  EXPECT_EQ(executions.seen, std::vector<std::string>{"counter 3"});
}

}  // namespace
}  // namespace rubato::chip
