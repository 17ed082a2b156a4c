// Blocks: where they begin and end, how they link, and when they are forgotten.
// SPDX-License-Identifier: MIT
#include "chip/isa/block_cache.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/chip/isa/machine.hpp"

namespace rubato::chip::isa::test {
namespace {

const Insn& last(const Block& b) {
  return b.insns()[b.count];
}  // the pseudo-instruction behind, if there is one

TEST(BlockCache, ABlockEndsBehindABranch) {
  Machine m;
  m.emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
  m.emit("beq", {.imm = 8});
  m.emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
  const Block* b = m.blocks.find(kCode);
  EXPECT_EQ(b->count, 2u);
  EXPECT_EQ(b->bytes, 8u);
  EXPECT_EQ(b->insns()[0].offset, 0);
  EXPECT_EQ(b->insns()[1].offset, 4);
  EXPECT_EQ(b->insns()[1].op, Op::beq);
}

TEST(BlockCache, ABlockEndsAtTheLineAndAStraddlingInstructionBelongsToWhereItStarts) {
  Machine m;
  m.emit_half(0x0001);
  for (int i = 0; i < 40; ++i) m.emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
  const Block* b = m.blocks.find(kCode);
  EXPECT_EQ(b->count, 17u) << "2 bytes, then 15 instructions to byte 62, then one over the edge";
  EXPECT_EQ(b->bytes, 66u);
  EXPECT_EQ(last(*b).op, Op::block_end);
  EXPECT_EQ(last(*b).offset, 66);
  EXPECT_EQ(m.blocks.find_next(*m.blocks.find(kCode))->pc, kCode + 66);
}

TEST(BlockCache, ALineOfCompressedInstructionsIsOneBlock) {
  Machine m;
  for (int i = 0; i < 64; ++i) m.emit_half(0x0001);
  EXPECT_EQ(m.blocks.find(kCode)->count, 32u);
  EXPECT_EQ(m.blocks.find(kCode + 62)->count, 1u);
  EXPECT_EQ(m.blocks.find(kCode + 64)->count, 32u);
}

TEST(BlockCache, SuccessorsAreRememberedAndIndirectOnesReplaced) {
  Machine m;
  for (int i = 0; i < 64; ++i) m.emit("jalr", {.rd = 0, .rs1 = 1});
  Block* b = m.blocks.find(kCode);
  Block* first = m.blocks.find_taken(*b, kCode + 8);
  EXPECT_EQ(b->taken, first);
  EXPECT_EQ(m.blocks.find_taken(*b, kCode + 8), first);
  EXPECT_EQ(m.blocks.find_taken(*b, kCode + 16)->pc, kCode + 16);
}

TEST(BlockCache, FindsThousandsOfBlocksAgain) {
  Machine m;
  const Addr end = kCode + 16 * AddressSpace::kPageBytes;
  std::vector<Block*> found;
  for (Addr pc = kCode; pc < end; pc += 2) found.push_back(m.blocks.find(pc));
  EXPECT_EQ(m.blocks.size(), found.size());
  for (Addr pc = kCode; pc < end; pc += 2) ASSERT_EQ(m.blocks.find(pc), found[(pc - kCode) / 2]);
}

TEST(BlockCache, CodeThatCannotBeFetchedIsABlockThatFaults) {
  Machine m;
  m.memory.map(0x400000, AddressSpace::kPageBytes, Page::kRead | Page::kExecute);
  m.memory.store<std::uint16_t>(0x400ffe, 0x0013);  // the first half of a long instruction
  const Block* b = m.blocks.find(0x400ffe);
  EXPECT_EQ(b->insns()[0].op, Op::fetch_fault);
  EXPECT_EQ(b->insns()[0].imm, 2);
  EXPECT_EQ(m.blocks.find(0x500000)->insns()[0].op, Op::fetch_fault);
  EXPECT_EQ(m.blocks.find(kData)->insns()[0].op, Op::fetch_fault) << "data is not executable";
  EXPECT_EQ(m.blocks.find(AddressSpace::kSize)->insns()[0].op, Op::fetch_fault);
}

TEST(BlockCache, ACallOfANullPointerIsABlockThatFaults) {
  Machine m;
  const Block* b = m.blocks.find(0);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->insns()[0].op, Op::fetch_fault);
}

TEST(BlockCache, StopsAtTheGivenPc) {
  Machine m;
  for (int i = 0; i < 4; ++i) m.emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
  m.emit("ecall");
  m.blocks.set_stop(kCode + 8);
  RunResult r = m.run();
  EXPECT_EQ(r.reason, StopReason::stop);
  EXPECT_EQ(m.hart.pc, kCode + 8);
  EXPECT_EQ(r.instructions, 2u);
  EXPECT_EQ(m.x(5), 2u);
  r = m.run();
  EXPECT_EQ(r.reason, StopReason::stop) << "until the stop is lifted";
  EXPECT_EQ(r.instructions, 0u);
  m.blocks.set_stop(std::nullopt);
  r = m.run();
  EXPECT_EQ(r.reason, StopReason::ecall);
  EXPECT_EQ(r.instructions, 3u);
  EXPECT_EQ(m.x(5), 4u);
}

TEST(BlockCache, AHostCallIsABlockOfItsOwnAndNoInstruction) {
  Machine m;
  for (int i = 0; i < 4; ++i) m.emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
  m.emit("ecall");
  m.blocks.set_host_calls({{kCode + 8, 7}});
  EXPECT_EQ(m.blocks.find(kCode)->bytes, 8u);
  const RunResult r = m.run();
  EXPECT_EQ(r.reason, StopReason::host_call);
  EXPECT_EQ(r.insn.imm, 7);
  EXPECT_EQ(m.hart.pc, kCode + 8);
  EXPECT_EQ(r.instructions, 2u);
  m.blocks.set_host_calls({});
  EXPECT_EQ(m.run().reason, StopReason::ecall) << "the function's own code is as it was";
  EXPECT_EQ(m.x(5), 4u);
}

struct Notes final : NoteObserver {
  void on_note(Addr pc, const HartState& hart, std::uint32_t) override {
    seen.emplace_back(pc, hart.x[5]);
    if (const auto pc_to_add = std::exchange(adds, 0); pc_to_add != 0) blocks->add_note(pc_to_add);
  }
  std::vector<std::pair<Addr, std::uint64_t>> seen;
  BlockCache* blocks = nullptr;
  Addr adds = 0;
};

// Two instructions and a jump to two more.
struct NotedMachine : Machine {
  NotedMachine() {
    for (int i = 0; i < 2; ++i) emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
    emit("jal", {.rd = 0, .imm = 8});
    emit("ecall");
    for (int i = 0; i < 2; ++i) emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
    emit("ecall");
    notes.blocks = &blocks;
  }
  static constexpr Addr kTarget = kCode + 16;
  Notes notes;
};

TEST(BlockCache, ANoteShowsTheHartAndIsNoInstruction) {
  NotedMachine m;
  m.blocks.set_notes({kCode, NotedMachine::kTarget}, m.notes);
  const Block* b = m.blocks.find(kCode);
  EXPECT_TRUE(b->is_noted);
  EXPECT_EQ(b->insns()[0].op, Op::note);
  EXPECT_EQ(b->first()->op, Op::addi);
  EXPECT_EQ(b->count, 3u);
  EXPECT_EQ(b->bytes, 12u);
  const RunResult r = m.run();
  EXPECT_EQ(r.reason, StopReason::ecall);
  EXPECT_EQ(r.instructions, 6u);
  EXPECT_EQ(m.x(5), 4u);
  EXPECT_EQ(m.notes.seen,
            (std::vector<std::pair<Addr, std::uint64_t>>{{kCode, 0}, {NotedMachine::kTarget, 2}}));
}

TEST(BlockCache, APcInsideABlockIsNotNotedAndEndsNone) {
  NotedMachine m;
  m.blocks.set_notes({kCode + 4}, m.notes);
  EXPECT_EQ(m.blocks.find(kCode)->bytes, 12u);
  m.run();
  EXPECT_TRUE(m.notes.seen.empty());
}

TEST(BlockCache, ANoteAddedByANoteIsSeenFromThenOn) {
  NotedMachine m;
  m.blocks.set_notes({kCode}, m.notes);
  m.notes.adds = NotedMachine::kTarget;
  EXPECT_EQ(m.run().instructions, 6u);
  EXPECT_EQ(m.x(5), 4u);
  EXPECT_EQ(m.notes.seen.size(), 2u) << "of each place one, though the code was decoded anew";
}

// A call of a function, behind which there is one instruction.
struct CallingMachine : Machine {
  explicit CallingMachine(bool is_far) {
    if (is_far) emit("auipc", {.rd = 6});
    emit(is_far ? "jalr" : "jal",
         is_far ? Operands{.rd = 1, .rs1 = 6, .imm = 16} : Operands{.rd = 1, .imm = 12});
    behind = kCode + (is_far ? 8 : 4);
    emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
    emit("ecall");
    emit("jalr", {.rs1 = 1});
    blocks.set_notes({function()}, notes, {function()});
  }
  Addr function() const { return behind + 8; }
  Notes notes;
  Addr behind = 0;
};

TEST(BlockCache, NotesThePlacesBehindDirectCalls) {
  for (const bool is_far : {false, true}) {
    CallingMachine m(is_far);
    const std::uint64_t generation = m.blocks.generation();
    EXPECT_EQ(m.run().reason, StopReason::ecall);
    EXPECT_EQ(m.notes.seen, (std::vector<std::pair<Addr, std::uint64_t>>{{m.function(), 0}, {m.behind, 0}}));
    EXPECT_EQ(m.blocks.generation(), generation);
  }
}

TEST(BlockCache, APlaceBehindACallThatABlockHasBegunAtIsNotNoted) {
  CallingMachine m(false);
  m.blocks.find(m.behind);
  m.run();
  EXPECT_EQ(m.notes.seen.size(), 1u);
  EXPECT_FALSE(m.blocks.notes().contains(m.behind));
}

TEST(BlockCache, AFaultInANotedBlockCountsTheInstructionsBefore) {
  Machine m;
  m.emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
  m.emit("ld", {.rd = 6, .rs1 = 0});
  Notes notes;
  m.blocks.set_notes({kCode}, notes);
  const RunResult r = m.run();
  EXPECT_EQ(r.reason, StopReason::fault);
  EXPECT_EQ(r.fault.pc, kCode + 4);
  EXPECT_EQ(r.instructions, 1u);
}

TEST(BlockCache, WhatIsNoCodeHasNoNote) {
  Machine m;
  Notes notes;
  m.emit("ecall");
  m.blocks.set_host_calls({{kCode, 7}});
  m.blocks.set_notes({kCode, kData}, notes);
  EXPECT_EQ(m.blocks.find(kCode)->insns()[0].op, Op::host_call);
  EXPECT_EQ(m.blocks.find(kData)->insns()[0].op, Op::fetch_fault);
}

TEST(BlockCache, ForgetsWhenExecutableMappingsChangeAndOnlyThen) {
  Machine m;
  m.emit("ecall");
  m.run();
  const std::uint64_t generation = m.blocks.generation();
  m.memory.map(0x800000, AddressSpace::kPageBytes, Page::kRead | Page::kWrite);
  m.memory.unmap(0x800000, AddressSpace::kPageBytes);
  m.run();
  EXPECT_EQ(m.blocks.generation(), generation) << "data came and went";
  m.memory.protect(kCode, AddressSpace::kPageBytes, Page::kRead);
  EXPECT_EQ(m.run().fault.kind, FaultKind::fetch_access);
  EXPECT_GT(m.blocks.generation(), generation);
  m.memory.protect(kCode, AddressSpace::kPageBytes, Page::kRead | Page::kExecute);
  EXPECT_EQ(m.run().reason, StopReason::ecall);
}

TEST(BlockCache, NewCodeIsSeenAfterFenceI) {
  Machine m;
  m.emit("fence.i");
  m.emit("addi", {.rd = 5, .rs1 = 0, .imm = 1});
  m.emit("ecall");
  m.hart.pc = kCode + 4;
  m.run();
  EXPECT_EQ(m.x(5), 1u);
  m.memory.store(kCode + 4, encode("addi", {.rd = 5, .rs1 = 0, .imm = 2}));
  m.hart.pc = kCode;
  const RunResult r = m.run();
  ASSERT_EQ(r.reason, StopReason::fence_i);
  EXPECT_EQ(m.hart.pc, kCode);
  m.blocks.flush();
  m.hart.pc += 4;
  m.run();
  EXPECT_EQ(m.x(5), 2u);
}

}  // namespace
}  // namespace rubato::chip::isa::test
