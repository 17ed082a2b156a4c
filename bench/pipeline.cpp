// Speed of the timed interpreter alone: guest instructions a host second on one core whose accesses hit their
// L1s.
// SPDX-License-Identifier: MIT
#include "chip/core/pipeline.hpp"
#include "chip/core/core_model.hpp"

#include <benchmark/benchmark.h>

#include <string_view>

#include "tests/chip/isa/encode.hpp"

namespace rubato::chip {
namespace {

using isa::test::encode;
using isa::test::Operands;

struct NoMemory final : MemorySystem {
  AccessResult access(CoreId, LineAddr, AccessKind, Cycle now) override { return {.cycle = now + 1}; }
  void warm(CoreId, LineAddr, AccessKind) override {}
  void forget(LineAddr, LineAddr) override {}
};

/// A loop of list-walking, arithmetic and a store, about what a compiler makes of a small task.
void BM_PipelineLoop(benchmark::State& state) {
  constexpr Addr kCode = 0x10000, kData = 0x200000;
  Config config;
  config.chip.cores = 1;
  config = resolve(config);
  AddressSpace memory;
  memory.map(kCode, AddressSpace::kPageBytes, Page::kRead | Page::kExecute);
  memory.map(kData, AddressSpace::kPageBytes, Page::kRead | Page::kWrite);
  isa::BlockCache blocks{memory};
  L1Cache l1i{{16384, 8}}, l1d{{16384, 8}};
  NoMemory system;
  for (Addr a = 0; a < AddressSpace::kPageBytes; a += kLineBytes) {
    l1i.fill(l1i.victim(line_of(kCode + a)).slot, line_of(kCode + a), LineState::shared);
    l1d.fill(l1d.victim(line_of(kData + a)).slot, line_of(kData + a), LineState::modified);
  }
  Addr end = kCode;
  const auto emit = [&](std::string_view name, Operands o) {
    memory.store(end, encode(name, o));
    end += 4;
  };
  emit("andi", {.rd = 6, .rs1 = 5, .imm = 511});
  emit("slli", {.rd = 6, .rs1 = 6, .imm = 3});
  emit("add", {.rd = 7, .rs1 = 10, .rs2 = 6});
  emit("ld", {.rd = 8, .rs1 = 7, .imm = 0});
  emit("addi", {.rd = 9, .rs1 = 9, .imm = 1});
  emit("xor", {.rd = 8, .rs1 = 8, .rs2 = 5});
  emit("sd", {.rs1 = 7, .rs2 = 8, .imm = 0});
  emit("addi", {.rd = 5, .rs1 = 5, .imm = -1});
  emit("bne", {.rs1 = 5, .rs2 = 0, .imm = -32});
  emit("ecall", {});
  Pipeline pipeline(CoreId{0}, config, {&memory, &blocks, system, l1i, l1d});
  const std::unique_ptr<CoreModel> model = make_core_model(config, pipeline.parts());
  for (auto _ : state) {
    pipeline.hart().pc = kCode;
    pipeline.hart().x[5] = 100000;
    pipeline.hart().x[10] = kData;
    pipeline.begin_context(pipeline.cycle());
    model->run(pipeline.cycle(), kNever);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(pipeline.counters().instructions));
}
BENCHMARK(BM_PipelineLoop)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rubato::chip
