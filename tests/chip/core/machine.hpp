// A core model alone on a flat memory: every miss takes 20 cycles, 2 of them in the L1 and 18 in memory.
// Tests may look at each access, block it or abort tasks by it.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "chip/core/core_model.hpp"
#include "chip/core/pipeline.hpp"
#include "chip/isa/decode.hpp"
#include "tests/chip/isa/encode.hpp"

namespace rubato::chip::test {

using isa::test::encode;
using isa::test::Operands;

constexpr Addr kCode = 0x10000, kData = 0x200000;
constexpr Latency kMiss = 20;

struct FlatMemory final : MemorySystem {
  L1Cache* l1i = nullptr;
  L1Cache* l1d = nullptr;
  std::vector<std::pair<AccessKind, std::uint64_t>> accesses;
  std::vector<LineAddr> lines;  ///< of the accesses
  /// Called before an access changes anything; it is not done if the hook says so.
  std::function<void(LineAddr, AccessKind, Cycle, AccessResult&)> hook;
  AccessResult access(CoreId, LineAddr line, AccessKind kind, Cycle now) override {
    AccessResult r;
    if (hook) hook(line, kind, now, r);
    if (!r.done) return r;
    accesses.emplace_back(kind, now.value);
    lines.push_back(line);
    L1Cache& l1 = kind == AccessKind::fetch ? *l1i : *l1d;
    const LineState state = is_write(kind) ? LineState::modified : LineState::shared;
    if (l1.state(line) < state) fill(l1, line, state);
    r.served_by = ServedBy::memory;
    r.cycle = now + kMiss;
    r.parts.l1 = 2;
    r.parts.memory = 18;
    return r;
  }
  static void fill(L1Cache& l1, LineAddr line, LineState state) {
    if (const std::uint32_t slot = l1.find(line); slot != L1Cache::kNoSlot) {
      l1.set_state(slot, state);
      return;
    }
    const L1Cache::Victim v = l1.victim(line);
    if (v.state != LineState::invalid) l1.invalidate(v.slot);
    l1.fill(v.slot, line, state);
  }
  void warm(CoreId, LineAddr, AccessKind) override {}
  void forget(LineAddr, LineAddr) override {}
};

struct Machine {
  explicit Machine(const std::function<void(Config&)>& change = [](Config&) {}) {
    config.chip.cores = 1;
    change(config);
    config = resolve(config);
    memory.map(kCode, 4 * AddressSpace::kPageBytes, Page::kRead | Page::kExecute);
    memory.map(kData, 16 * AddressSpace::kPageBytes, Page::kRead | Page::kWrite);
    system.l1i = &l1i;
    system.l1d = &l1d;
    pipeline =
        std::make_unique<Pipeline>(CoreId{0}, config, Pipeline::Ports{&memory, &blocks, system, l1i, l1d});
    model = make_core_model(config, pipeline->parts());
    pipeline->hart().pc = kCode;
    for (Addr a = kCode; a < kCode + 4096; a += kLineBytes)
      FlatMemory::fill(l1i, line_of(a), LineState::shared);
  }
  void emit(std::string_view name, Operands o = {}) {
    memory.store(end, encode(name, o));
    end += 4;
  }
  void cached(Addr a, LineState state = LineState::modified) { FlatMemory::fill(l1d, line_of(a), state); }
  /// Runs to the ecall behind what was emitted. @returns the cycle at which it would issue.
  std::uint64_t run() {
    emit("ecall");
    EXPECT_EQ(model->run(Cycle{0}, kNever), PipelineStop::ecall);
    return pipeline->cycle().value;
  }
  std::uint64_t& x(unsigned n) { return pipeline->hart().x[n]; }

  Config config;
  AddressSpace memory;
  isa::BlockCache blocks{memory};
  L1Cache l1i{{16384, 8}}, l1d{{16384, 8}};
  FlatMemory system;
  std::unique_ptr<Pipeline> pipeline;
  std::unique_ptr<CoreModel> model;
  Addr end = kCode;
};

}  // namespace rubato::chip::test
