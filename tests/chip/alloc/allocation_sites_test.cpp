// Calls of allocator functions by a guest program of a few functions. Its allocator returns what is in s1.
// SPDX-License-Identifier: MIT
#include "chip/alloc/allocation_sites.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/chip/isa/machine.hpp"

namespace rubato::chip {
namespace {

using isa::test::kCode;
using isa::test::kData;
using isa::test::Operands;

constexpr unsigned kRa = 1, kSp = 2, kT0 = 5, kS1 = 9, kA0 = 10, kA1 = 11, kA2 = 12, kS2 = 18;
constexpr Addr kMain = kCode, kMake = kCode + 0x100, kMalloc = kCode + 0x400, kNew = kCode + 0x500,
               kWrapper = kCode + 0x600, kPosixMemalign = kCode + 0x800, kRealloc = kCode + 0x900,
               kStack = kData + 0x1000, kHeap = kData + 0x2000, kHeapEnd = kData + 0x4000;

Symbols symbols_of_all() {
  const auto function = [](Addr a, std::string name) {
    return Symbols::Symbol{a, 0x100, {}, std::move(name), true};
  };
  return Symbols({function(kMain, "main"), function(kMake, "make"), function(kMalloc, "malloc"),
                  function(kNew, "_Znwm"), function(kWrapper, "xmalloc"),
                  function(kPosixMemalign, "posix_memalign"), function(kRealloc, "realloc")});
}

/// main calls make, which asks for memory as the test says.
struct Guest : isa::test::Machine {
  Guest() {
    x(kSp) = kStack;
    begin(kMain);
    call(kMake);
    put("ecall");
    for (const Addr function : {kMalloc, kRealloc}) {
      begin(function);
      put("addi", {.rd = kA0, .rs1 = kS1});
      put("jalr", {.rs1 = kRa});
    }
    begin(kPosixMemalign);
    put("sd", {.rs1 = kA0, .rs2 = kS1});
    put("addi", {.rd = kA0});
    put("jalr", {.rs1 = kRa});
    begin(kNew);
    in_frame([&] { call(kMalloc); });
    begin(kWrapper);
    in_frame([&] { call(kMalloc); });
  }
  void begin(Addr a) { at_ = a; }
  void put(std::string_view name, Operands operands = {}) {
    memory.store(at_, isa::test::encode(name, operands));
    at_ += 4;
  }
  void call(Addr function) {
    put("jal", {.rd = kRa, .imm = static_cast<std::int32_t>(static_cast<std::int64_t>(function - at_))});
  }
  template <class Body>
  void in_frame(const Body& body) {
    put("addi", {.rd = kSp, .rs1 = kSp, .imm = -32});
    put("sd", {.rs1 = kSp, .rs2 = kRa, .imm = 24});
    body();
    put("ld", {.rd = kRa, .rs1 = kSp, .imm = 24});
    put("addi", {.rd = kSp, .rs1 = kSp, .imm = 32});
    put("jalr", {.rs1 = kRa});
  }
  /// make(): asks `function` for `bytes`, in a0.
  void make_calls(Addr function, std::int32_t bytes) {
    begin(kMake);
    in_frame([&] {
      put("addi", {.rd = kA0, .imm = bytes});
      call(function);
    });
  }
  /// Runs main, whose allocator returns `block`. @returns the instructions.
  std::uint64_t run_main(Addr block) {
    hart.pc = kMain;
    x(kS1) = block;
    const isa::RunResult result = run();
    EXPECT_EQ(result.reason, isa::StopReason::ecall);
    return result.instructions;
  }

  Symbols symbols = symbols_of_all();

 private:
  Addr at_ = kMain;
};

struct Watched : Guest {
  /// Once the code is complete: it looks for calls.
  AllocationSites& watch() {
    return sites_.emplace(symbols, memory, blocks, std::pair(Addr{kHeap}, Addr{kHeapEnd}));
  }
  AllocationSites& sites() { return *sites_; }
  /// The function of each call that led to the block at `a`, innermost first.
  std::vector<std::string> calls_of(Addr a) {
    std::vector<std::string> names;
    const auto block = sites().blocks().at(a);
    if (block)
      for (const Addr call : sites().site(block->site).calls)
        names.push_back(Symbols::name(*symbols.at(call)));
    return names;
  }
  std::string user_of(Addr a) {
    const AllocationSites::Site& site = sites().site(sites().blocks().at(a)->site);
    return calls_of(a).at(site.user);
  }

 private:
  std::optional<AllocationSites> sites_;
};

TEST(AllocationSites, NameTheFunctionThatCalledMalloc) {
  Watched guest;
  guest.make_calls(kMalloc, 64);
  guest.watch();
  guest.run_main(kHeap + 0x40);
  EXPECT_EQ(guest.sites().blocks().at(kHeap + 0x40), (AllocatedBlock{kHeap + 0x40, 64, 0}));
  EXPECT_EQ(guest.calls_of(kHeap + 0x40), std::vector<std::string>{"make"});
}

TEST(AllocationSites, TakeNoInstruction) {
  Guest plain;
  plain.make_calls(kMalloc, 64);
  Watched watched;
  watched.make_calls(kMalloc, 64);
  watched.watch();
  EXPECT_EQ(watched.run_main(kHeap), plain.run_main(kHeap));
  EXPECT_EQ(watched.hart.pc, plain.hart.pc);
  EXPECT_EQ(watched.hart.x, plain.hart.x);
}

TEST(AllocationSites, OfOperatorNewAreItsCallers) {
  Watched guest;
  guest.make_calls(kNew, 24);
  guest.watch();
  guest.run_main(kHeap);
  EXPECT_EQ(guest.sites().blocks().at(kHeap)->bytes, 24U);
  EXPECT_EQ(guest.calls_of(kHeap), std::vector<std::string>{"make"}) << "its own call of malloc is no block";
}

TEST(AllocationSites, OfAWrapperAreItsCallers) {
  Watched guest;
  guest.make_calls(kWrapper, 100);
  guest.watch();
  guest.run_main(kHeap);
  EXPECT_EQ(guest.calls_of(kHeap), (std::vector<std::string>{"xmalloc", "make"}));
  EXPECT_EQ(guest.user_of(kHeap), "make");
}

TEST(AllocationSites, LearnCallsThroughPointers) {
  Watched guest;
  guest.begin(kMake);
  guest.in_frame([&] {
    guest.put("addi", {.rd = kA0, .imm = 40});
    guest.put("jalr", {.rd = kRa, .rs1 = kT0});
  });
  guest.watch();
  guest.x(kT0) = kMalloc;
  const std::uint64_t generation = guest.blocks.generation();
  guest.run_main(kHeap);
  EXPECT_EQ(guest.sites().blocks().at(kHeap)->bytes, 40U);
  EXPECT_EQ(guest.blocks.generation(), generation + 1);
  guest.run_main(kHeap + 64);
  EXPECT_EQ(guest.sites().blocks().at(kHeap + 64)->bytes, 40U);
  EXPECT_EQ(guest.blocks.generation(), generation + 1) << "once a call";
}

TEST(AllocationSites, DecodeNothingAnewForDirectCalls) {
  Watched guest;
  guest.make_calls(kMalloc, 64);
  guest.watch();
  const std::uint64_t generation = guest.blocks.generation();
  guest.run_main(kHeap);
  EXPECT_EQ(guest.sites().blocks().size(), 1U);
  EXPECT_EQ(guest.blocks.generation(), generation);
}

TEST(AllocationSites, NoteReturnsToAPlaceThatWasDecodedBeforeItsCall) {
  Watched guest;
  guest.make_calls(kMalloc, 64);
  guest.watch();
  guest.blocks.find(kMake + 16);  // behind the call: another path leads there
  guest.run_main(kHeap);
  EXPECT_EQ(guest.sites().blocks().size(), 1U);
}

TEST(AllocationSites, GoOnWithWhatWasSaved) {
  Watched before, after;
  before.make_calls(kWrapper, 64);
  before.watch();
  before.run_main(kHeap + 0x40);
  after.make_calls(kWrapper, 64);
  after.watch().restore(before.sites().saved());
  EXPECT_EQ(after.sites().blocks().at(kHeap + 0x40), (AllocatedBlock{kHeap + 0x40, 64, 0}));
  EXPECT_EQ(after.user_of(kHeap + 0x40), "make");
  after.run_main(kHeap + 0x100);
  EXPECT_EQ(after.sites().blocks().at(kHeap + 0x100)->site, 0U) << "the same site";
}

TEST(AllocationSites, SaveACallThatHasNotReturned) {
  Watched before, after;
  for (Watched* const guest : {&before, &after}) guest->make_calls(kMalloc, 64);
  before.watch();
  before.hart.pc = kMain;
  before.x(kS1) = kHeap;
  before.blocks.set_stop(kMalloc + 4);
  EXPECT_EQ(before.run().reason, isa::StopReason::stop);
  after.watch().restore(before.sites().saved());
  after.hart = before.hart;
  after.memory.store(kStack - 8, before.memory.load<std::uint64_t>(kStack - 8));  // make()'s return address
  EXPECT_EQ(after.run().reason, isa::StopReason::ecall);
  EXPECT_EQ(after.calls_of(kHeap), std::vector<std::string>{"make"});
}

TEST(AllocationSites, AReallocatedBlockIsWhereItMovedTo) {
  Watched guest;
  guest.begin(kMake);
  guest.in_frame([&] {
    guest.put("addi", {.rd = kA0, .imm = 16});
    guest.put("addi", {.rd = kA1, .imm = 200});
    guest.call(kRealloc);
  });
  guest.watch();
  guest.run_main(kHeap + 0x100);
  EXPECT_EQ(guest.sites().blocks().at(kHeap + 0x100)->bytes, 200U);
}

TEST(AllocationSites, ReadStoredResultsIfTheCallWasRight) {
  Watched guest;
  guest.begin(kMake);
  guest.in_frame([&] {
    guest.put("addi", {.rd = kA0, .rs1 = kS2});
    guest.put("addi", {.rd = kA1, .imm = 64});
    guest.put("addi", {.rd = kA2, .imm = 128});
    guest.call(kPosixMemalign);
  });
  guest.x(kS2) = kData;
  guest.watch();
  guest.run_main(kHeap + 0x200);
  EXPECT_EQ(guest.sites().blocks().at(kHeap + 0x200)->bytes, 128U);
}

TEST(AllocationSites, NoMemoryIsNoBlock) {
  Watched guest;
  guest.make_calls(kMalloc, 64);
  guest.watch();
  guest.run_main(0);
  EXPECT_EQ(guest.sites().blocks().size(), 0U);
}

TEST(AllocationSites, TheSameMemoryOnceMoreIsTheLivingBlock) {
  Watched guest;
  guest.make_calls(kMalloc, 64);
  guest.watch();
  guest.run_main(kHeap);
  guest.make_calls(kNew, 32);
  guest.blocks.flush();  // the code is another
  guest.run_main(kHeap);
  EXPECT_EQ(guest.sites().blocks().at(kHeap)->bytes, 32U);
  EXPECT_EQ(guest.sites().blocks().size(), 1U);
}

TEST(AllocationSites, AValueThatIsUnderWayIsNotKnown) {
  Watched guest;
  guest.watch();
  HartState hart;
  hart.x[kRa] = kMake + 0x40;
  hart.x[kA0] = 64;
  guest.sites().on_note(kMalloc, hart, 1U << kA0);
  hart.x[kA0] = kHeap;
  guest.sites().on_note(kMake + 0x40, hart, 0);
  EXPECT_EQ(guest.sites().blocks().size(), 0U);
}

TEST(AllocationSites, SayWhyTheyKnowNothing) {
  isa::test::Machine machine;
  const Symbols none{}, others(std::vector<Symbols::Symbol>{{kMain, 4, {}, "main", true}});
  const std::pair<Addr, Addr> heap(kHeap, kHeapEnd);
  EXPECT_EQ(AllocationSites(none, machine.memory, machine.blocks, heap).blindness(),
            "the program has no symbols");
  EXPECT_EQ(AllocationSites(others, machine.memory, machine.blocks, heap).blindness(),
            "the program has no function with the name of an allocator's");
  EXPECT_EQ(AllocationSites(symbols_of_all(), machine.memory, machine.blocks, heap).blindness(), "");
}

TEST(AllocatorFunctions, KnowWrappersByTheirOwnNames) {
  const auto is_wrapper = [](std::string_view name) { return is_allocation_wrapper(own_name(name)); };
  EXPECT_TRUE(is_wrapper("operator new(unsigned long)"));
  EXPECT_TRUE(is_wrapper("xmalloc"));
  EXPECT_TRUE(is_wrapper("(anonymous namespace)::Pool::allocate(unsigned long)"));
  EXPECT_FALSE(is_wrapper("make(std::vector<int, std::allocator<int> >&)"));
  EXPECT_FALSE(is_wrapper("void fill<std::vector<int, std::allocator<int> > >(int)"));
  EXPECT_EQ(own_name("void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)"),
            "std::vector::_M_realloc_insert");
  EXPECT_TRUE(is_of_library("std::vector::_M_realloc_insert"));
}

}  // namespace
}  // namespace rubato::chip
