// Callers by prologues: frames of different forms, and where the walk ends.
// SPDX-License-Identifier: MIT
#include "chip/os/frame_walk.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tests/chip/isa/encode.hpp"

namespace rubato::chip {
namespace {

using isa::test::Operands;

constexpr Addr kFunction = 0x10000, kCallee = 0x11000, kStack = 0x20000;
constexpr unsigned kRa = 1, kSp = 2, kT0 = 5, kS0 = 8;

Symbols one_function() { return Symbols(std::vector<Symbols::Symbol>{{kFunction, 0x800, {}, "f", true}}); }

struct FrameWalkTest : testing::Test {
  FrameWalkTest() {
    memory.map(kFunction, 2 * AddressSpace::kPageBytes, Page::kRead | Page::kExecute);
    memory.map(kStack, AddressSpace::kPageBytes, Page::kRead | Page::kWrite);
  }
  void put(std::string_view name, Operands operands = {}) {
    memory.store(end, isa::test::encode(name, operands));
    end += 4;
  }
  void call() {
    put("jal", {.rd = kRa, .imm = static_cast<std::int32_t>(static_cast<std::int64_t>(kCallee - end))});
  }
  /// The caller of the function, from behind its last call; its frame begins at kStack.
  std::optional<FrameWalk::Place> caller() {
    const Symbols symbols = one_function();
    return FrameWalk(symbols, memory).caller_of({end, kStack});
  }

  AddressSpace memory;
  Addr end = kFunction;
};

TEST_F(FrameWalkTest, FindTheReturnAddressInTheFrame) {
  put("addi", {.rd = kSp, .rs1 = kSp, .imm = -48});
  put("sd", {.rs1 = kSp, .rs2 = kRa, .imm = 40});
  call();
  memory.store<std::uint64_t>(kStack + 40, 0x12346);
  const auto found = caller();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->pc, 0x12346U);
  EXPECT_EQ(found->sp, kStack + 48);
}

TEST_F(FrameWalkTest, AddUpFramesThatGrowLater) {
  put("addi", {.rd = kSp, .rs1 = kSp, .imm = -16});
  put("sd", {.rs1 = kSp, .rs2 = kRa, .imm = 8});
  put("addi", {.rd = kSp, .rs1 = kSp, .imm = -64});
  call();
  memory.store<std::uint64_t>(kStack + 72, 0x12346);
  const auto found = caller();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->pc, 0x12346U);
  EXPECT_EQ(found->sp, kStack + 80);
}

TEST_F(FrameWalkTest, PassReturnsOnTheWay) {
  put("addi", {.rd = kSp, .rs1 = kSp, .imm = -32});
  put("sd", {.rs1 = kSp, .rs2 = kRa, .imm = 24});
  put("ld", {.rd = kRa, .rs1 = kSp, .imm = 24});
  put("addi", {.rd = kSp, .rs1 = kSp, .imm = 32});
  put("jalr", {.rs1 = kRa});
  call();
  memory.store<std::uint64_t>(kStack + 24, 0x12346);
  EXPECT_EQ(caller()->sp, kStack + 32);
}

TEST_F(FrameWalkTest, AllowFramePointers) {
  put("addi", {.rd = kSp, .rs1 = kSp, .imm = -32});
  put("sd", {.rs1 = kSp, .rs2 = kRa, .imm = 24});
  put("addi", {.rd = kS0, .rs1 = kSp, .imm = 32});
  put("addi", {.rd = kSp, .rs1 = kS0, .imm = -32});
  call();
  memory.store<std::uint64_t>(kStack + 24, 0x12346);
  EXPECT_EQ(caller()->pc, 0x12346U);
}

TEST_F(FrameWalkTest, EndAtFramesOfUnknownSize) {
  put("addi", {.rd = kSp, .rs1 = kSp, .imm = -32});
  put("sd", {.rs1 = kSp, .rs2 = kRa, .imm = 24});
  put("sub", {.rd = kSp, .rs1 = kSp, .rs2 = kT0});
  call();
  EXPECT_FALSE(caller());
}

TEST_F(FrameWalkTest, EndWhereNothingIsSavedOrCalled) {
  call();
  EXPECT_FALSE(caller()) << "the return address is nowhere";
  put("addi", {.rd = kSp, .rs1 = kSp, .imm = -32});
  put("sd", {.rs1 = kSp, .rs2 = kRa, .imm = 24});
  EXPECT_FALSE(caller()) << "no call stands before";
}

TEST_F(FrameWalkTest, EndOutsideOfMemoryAndFunctions) {
  put("addi", {.rd = kSp, .rs1 = kSp, .imm = -32});
  put("sd", {.rs1 = kSp, .rs2 = kRa, .imm = 24});
  call();
  const Symbols none{}, symbols = one_function();
  EXPECT_FALSE(FrameWalk(symbols, memory).caller_of({end, 0x7ff0000}));
  EXPECT_FALSE(FrameWalk(none, memory).caller_of({end, kStack}));
}

}  // namespace
}  // namespace rubato::chip
