// The window core on programs drawn at random, against the functional interpreter (K71): lines come late and
// in any order, loads that wait go on with wrong values now and then, and everything must be as if they had
// not. Then with bugs of a squash, which some program must show.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "chip/core/window/window_core.hpp"
#include "chip/isa/interpreter.hpp"
#include "tests/chip/core/machine.hpp"
#include "tests/fault_list.hpp"

namespace rubato::chip {
namespace {

using namespace test;

constexpr unsigned kLines = 6;  // of data
constexpr std::uint64_t kBytes = kLines * kLineBytes;
constexpr std::uint64_t kNone = ~std::uint64_t{0};

struct NoCounters final : isa::CounterSource {
  std::uint64_t read_counter(unsigned, std::uint64_t) override { return 0; }
};

/// x10: the data; x5 to x9 and f5 to f9: values; x28, x29: addresses.
void emit_program(Machine& m, Rng& rng, int length) {
  const auto reg = [&] { return 5 + static_cast<unsigned>(rng.below(5)); };
  const auto address = [&](unsigned rd, unsigned align) {
    m.emit("andi", {.rd = rd, .rs1 = reg(), .imm = static_cast<std::int32_t>(256 - align)});
    m.emit("add", {.rd = rd, .rs1 = rd, .rs2 = 10});
  };
  const auto offset = [&](unsigned align) {
    return static_cast<std::int32_t>(rng.below(128 / align) * align);
  };
  const char* const alu[] = {"add", "sub", "xor", "sltu", "sll", "mul", "div"};
  const char* const loads[] = {"lb", "lhu", "lw", "ld"};
  const char* const stores[] = {"sb", "sh", "sw", "sd"};
  const char* const floats[] = {"fadd.d", "fmul.d", "fdiv.d", "fsub.d"};
  for (int i = 0; i < length; ++i) {
    switch (rng.below(15)) {
      case 0:
      case 1:
      case 2:
        m.emit(alu[rng.below(7)], {.rd = reg(), .rs1 = reg(), .rs2 = reg()});
        break;
      case 3:
        m.emit("addi", {.rd = reg(), .rs1 = reg(), .imm = static_cast<std::int32_t>(rng.below(4000)) - 2000});
        break;
      case 4:
      case 5:
      case 6: {
        const auto size = static_cast<unsigned>(rng.below(4));
        address(28, 1U << size);
        m.emit(loads[size], {.rd = reg(), .rs1 = 28, .imm = offset(1U << size)});
        break;
      }
      case 7:
      case 8: {
        const auto size = static_cast<unsigned>(rng.below(4));
        address(29, 1U << size);
        m.emit(stores[size], {.rs1 = 29, .rs2 = reg(), .imm = offset(1U << size)});
        break;
      }
      case 9:
        m.emit(rng.below(2) == 0 ? "beq" : "bltu", {.rs1 = reg(), .rs2 = reg(), .imm = 8});
        m.emit("xori", {.rd = reg(), .rs1 = reg(), .imm = 1});
        break;
      case 10:
        address(28, 8);
        m.emit("fld", {.rd = reg(), .rs1 = 28, .imm = offset(8)});
        break;
      case 11:
        m.emit(floats[rng.below(4)], {.rd = reg(), .rs1 = reg(), .rs2 = reg()});
        break;
      case 12:  // exact if the value is even
        m.emit("csrrwi", {.rd = 0, .rs1 = 0, .imm = 1});
        address(28, 8);
        m.emit("ld", {.rd = 5, .rs1 = 28, .imm = offset(8)});
        m.emit("slli", {.rd = 5, .rs1 = 5, .imm = 10});
        m.emit("srli", {.rd = 5, .rs1 = 5, .imm = 10});
        m.emit("fcvt.d.l", {.rd = reg(), .rs1 = 5});
        m.emit("csrrs", {.rd = 13, .rs1 = 0, .imm = 1});
        m.emit("add", {.rd = 12, .rs1 = 12, .rs2 = 13});
        break;
      case 13:
        if (rng.below(3) == 0) m.emit("csrrs", {.rd = reg(), .rs1 = 0, .imm = 1});  // fflags
        if (rng.below(3) == 0) m.emit("csrrc", {.rd = reg(), .rs1 = 7, .imm = 1});
        if (rng.below(4) == 0) m.emit("fence");
        break;
      default:
        address(29, 8);
        if (rng.below(2) == 0) {
          m.emit("amoadd.d", {.rd = reg(), .rs1 = 29, .rs2 = reg()});
        } else {
          m.emit("ld", {.rd = reg(), .rs1 = 29, .imm = offset(4)});  // may touch two lines
        }
        break;
    }
  }
  m.emit("csrrs", {.rd = 11, .rs1 = 0, .imm = 1});
  m.emit("ecall");
}

void fill(Machine& m, Rng rng) {
  for (Addr a = 0; a < 2 * kBytes; a += 8) m.memory.store<std::uint64_t>(kData + a, rng());
  m.x(10) = kData;
  for (unsigned r = 5; r < 10; ++r) m.x(r) = rng(), m.pipeline->hart().f[r] = rng() >> 2;
}

/// Blocks accesses until messages have brought the line, some cycles later.
struct LateLines {
  struct Due {
    std::uint64_t at;
    LineAddr line;
  };
  std::vector<Due> due;
  std::vector<LineAddr> here;  // to be used once, now
  std::uint64_t now = 0;
  Rng rng;

  LateLines(Machine& m, std::uint64_t seed) : rng(seed) {
    m.system.hook = [this](LineAddr line, AccessKind kind, Cycle, AccessResult& r) {
      if (kind == AccessKind::fetch) return;
      if (const auto i = std::find(here.begin(), here.end(), line); i != here.end()) {
        here.erase(i);
        return;
      }
      r.done = false;
      r.blocked = BlockReason::protocol;
      if (std::none_of(due.begin(), due.end(), [&](const Due& d) { return d.line == line; }))
        due.push_back({now + 1 + rng.below(60), line});
    };
  }
  /// The first line that is due comes.
  LineAddr come() {
    const auto first = std::find_if(due.begin(), due.end(), [this](const Due& d) { return d.at <= now; });
    here.push_back(first->line);
    due.erase(first);
    return here.back();
  }
  /// Forgets the lines that came; another core takes some of the copies.
  void take_away(Machine& m) {
    for (const LineAddr line : std::exchange(here, {}))
      if (const std::uint32_t slot = m.l1d.find(line); slot != L1Cache::kNoSlot && rng.below(3) == 0)
        m.l1d.invalidate(slot);
  }
};

/// Runs a random program to its end. @returns what is wrong, or nothing.
std::string run_one(std::uint64_t seed, WindowFault fault, std::uint64_t& squashes) {
  Rng shape(seed * 7 + 1);
  Machine m([&](Config& c) {
    c.core.model = "window";
    c.core.width = 1 + static_cast<std::uint32_t>(shape.below(6));
    c.core.rob = 2 + static_cast<std::uint32_t>(shape.below(64));
    c.core.load_buffer = 1 + static_cast<std::uint32_t>(shape.below(16));
    c.core.store_buffer = 1 + static_cast<std::uint32_t>(shape.below(16));
    c.core.mem_ports = 1 + static_cast<std::uint32_t>(shape.below(3));
    c.core.mispredict = static_cast<std::uint32_t>(shape.below(8));
  });
  Machine reference;
  for (Machine* machine : {&m, &reference}) {
    Rng rng(seed);
    fill(*machine, rng);
    emit_program(*machine, rng, 150);
  }
  NoCounters none;
  isa::Interpreter interpreter(reference.memory, reference.blocks, none);
  const isa::RunResult expected = interpreter.run(reference.pipeline->hart(), 100000);
  if (expected.reason != isa::StopReason::ecall) return "the program is wrong";

  inject(*m.model, fault);
  LateLines late(m, seed + 3);
  const auto next_due = [&] {
    std::uint64_t next = kNone;
    for (const auto& d : late.due) next = std::min(next, d.at);
    return next;
  };
  PipelineStop stop = PipelineStop::resume;
  for (int steps = 0; stop != PipelineStop::ecall; ++steps) {
    if (steps == 100000) return "it does not end";
    stop = m.model->run(Cycle{late.now}, Cycle{next_due()});
    if (!late.here.empty()) late.take_away(m);
    if (stop == PipelineStop::ecall) break;
    if (stop != PipelineStop::resume && stop != PipelineStop::deferred) return "it stops";
    const std::uint64_t own = stop == PipelineStop::resume ? m.pipeline->cycle().value : kNone;
    if (own == kNone && next_due() == kNone) return "it waits for nothing";
    late.now = std::max(late.now, std::min(own, next_due()));
    if (next_due() > late.now) continue;
    const LineAddr line = late.come();
    if (m.model->note_ready(line)) m.model->perform(line, Cycle{late.now});
  }
  squashes += dynamic_cast<const WindowCore&>(*m.model).stats().squashes;
  const HartState &is = m.pipeline->hart(), &should = reference.pipeline->hart();
  for (unsigned r = 1; r < 32; ++r) {
    if (is.x[r] != should.x[r]) return "x" + std::to_string(r);
    if (is.f[r] != should.f[r]) return "f" + std::to_string(r);
  }
  if (is.pc != should.pc || is.fcsr != should.fcsr) return "pc or fcsr";
  for (Addr a = 0; a < 2 * kBytes; ++a)
    if (m.memory.load<std::uint8_t>(kData + a) != reference.memory.load<std::uint8_t>(kData + a))
      return "byte " + std::to_string(a);
  if (m.pipeline->counters().instructions + 1 != expected.instructions) return "instructions";
  return {};
}

TEST(WindowRandom, ProgramsWhoseLinesComeLateEndAsTheyShould) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::uint64_t squashes = 0;
    EXPECT_EQ(run_one(seed, WindowFault::none, squashes), "") << "seed " << seed;
    EXPECT_EQ(squashes, 0U) << "nobody else writes";
  }
}

TEST(WindowRandom, LoadsThatGoOnWithWrongValuesAreFoundOutAndSurvived) {
  std::uint64_t squashes = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed)
    EXPECT_EQ(run_one(seed, WindowFault::wrong_guess, squashes), "") << "seed " << seed;
  EXPECT_GT(squashes, 300U);
}

TEST(WindowRandom, BugsOfASquashAreFound) {
  for (const WindowFault fault : all_faults<WindowFault>(kWindowFaultNames)) {
    if (fault == WindowFault::wrong_guess) continue;  // no bug
    unsigned found = 0;
    std::uint64_t squashes = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) found += !run_one(seed, fault, squashes).empty();
    EXPECT_GT(found, 0U) << fault_name(kWindowFaultNames, fault);
  }
}

}  // namespace
}  // namespace rubato::chip
