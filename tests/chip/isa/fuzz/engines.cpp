// The three ways to run an image of sequences.
// SPDX-License-Identifier: MIT
#include "tests/chip/isa/fuzz/engines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "chip/core/core_model.hpp"
#include "chip/core/pipeline.hpp"
#include "chip/isa/block_cache.hpp"
#include "chip/isa/disassemble.hpp"
#include "chip/isa/interpreter.hpp"

namespace rubato::chip::isa::test {
namespace {

Error stopped(std::string_view engine, const HartState& hart, int reason, const Fault& fault) {
  return UsageError("the {} interpreter stopped at {:#x} for reason {}, fault {} at address {:#x}", engine,
                    hart.pc, reason, static_cast<int>(fault.kind), fault.address);
}

void load(const Image& image, AddressSpace& memory) {
  const auto pages = [](std::uint64_t bytes) {
    return (bytes + AddressSpace::kPageBytes - 1) & ~(AddressSpace::kPageBytes - 1);
  };
  memory.map(image.text_address, pages(image.text.size()), Page::kRead | Page::kExecute);
  memory.map(image.data_address, pages(image.data_bytes), Page::kRead | Page::kWrite);
  std::memcpy(memory.host(image.text_address), image.text.data(), image.text.size());
  std::memcpy(memory.host(image.data_address), image.data.data(), image.data.size());
}

/// The buffer of the write that the hart is about to call.
std::vector<Record> written(const Image& image, const HartState& hart, const AddressSpace& memory) {
  constexpr std::uint64_t kWrite = 64;
  std::vector<Record> records(image.sequence_at.size());
  if (hart.x[reg::a7] != kWrite || hart.x[reg::a2] != records.size() * sizeof(Record))
    throw UsageError("the interpreter lost its way: it makes system call {}", hart.x[reg::a7]);
  std::memcpy(records.data(), memory.host(hart.x[reg::a1]), records.size() * sizeof(Record));
  return records;
}

struct NoCounters final : CounterSource {
  std::uint64_t read_counter(unsigned, std::uint64_t) override { return 0; }
};

/// Fills the L1 that asks, now or later, or not yet.
struct CapriciousMemory final : MemorySystem {
  CapriciousMemory(std::uint64_t seed, L1Cache& instructions, L1Cache& data)
      : rng(seed), l1i(instructions), l1d(data) {}
  AccessResult access(CoreId, LineAddr line, AccessKind kind, Cycle now) override {
    AccessResult result;
    result.done = rng.below(4) != 0;
    if (!result.done) return result;
    L1Cache& l1 = kind == AccessKind::fetch ? l1i : l1d;
    const bool reads = kind == AccessKind::load || kind == AccessKind::fetch;
    const LineState state = reads ? LineState::shared : LineState::modified;
    if (const std::uint32_t slot = l1.find(line); slot != L1Cache::kNoSlot) {
      l1.set_state(slot, state);
    } else {
      const L1Cache::Victim victim = l1.victim(line);
      if (victim.state != LineState::invalid) l1.invalidate(victim.slot);
      l1.fill(victim.slot, line, state);
    }
    result.parts.memory = static_cast<std::uint32_t>(1 + rng.below(40));
    result.cycle = now + result.parts.memory;
    return result;
  }
  void warm(CoreId, LineAddr, AccessKind) override {}
  void forget(LineAddr, LineAddr) override {}

  Rng rng;
  L1Cache& l1i;
  L1Cache& l1d;
};

}  // namespace

std::vector<Record> run_functional(const Image& image) {
  AddressSpace memory;
  load(image, memory);
  BlockCache blocks(memory);
  NoCounters counters;
  Interpreter interpreter(memory, blocks, counters);
  HartState hart;
  hart.pc = image.entry;
  const RunResult r = interpreter.run(hart, ~std::uint64_t{0} >> 2);
  if (r.reason != StopReason::ecall) throw stopped("functional", hart, static_cast<int>(r.reason), r.fault);
  return written(image, hart, memory);
}

std::vector<Record> run_timed(const Image& image, std::uint64_t seed) {
  AddressSpace memory;
  load(image, memory);
  BlockCache blocks(memory);
  Config config;
  config.chip.cores = 1;
  config = resolve(config);
  L1Cache l1i{{1024, 2}}, l1d{{512, 2}};
  CapriciousMemory system(seed, l1i, l1d);
  Pipeline pipeline(CoreId{0}, config, {&memory, &blocks, system, l1i, l1d});
  const std::unique_ptr<CoreModel> model = make_core_model(config, pipeline.parts());
  pipeline.hart().pc = image.entry;
  for (;;) {
    const Cycle now = pipeline.cycle();
    // Other cores' events: mostly soon, so that the pipeline must stop at each access and come again.
    const PipelineStop stop = model->run(now, now + system.rng.below(20));
    if (stop == PipelineStop::ecall) return written(image, pipeline.hart(), memory);
    if (stop == PipelineStop::blocked) pipeline.resume_at(now + 1 + system.rng.below(30));
    if (stop != PipelineStop::blocked && stop != PipelineStop::resume)
      throw stopped("timed", pipeline.hart(), static_cast<int>(stop), pipeline.fault());
  }
}

std::vector<Record> run_qemu(const Image& image, const TemporaryFolder& folder) {
  const std::string file = folder / "sequences";
  const auto elf = image.elf();
  std::FILE* out = std::fopen(file.c_str(), "wb");
  if (out == nullptr || std::fwrite(elf.data(), 1, elf.size(), out) != elf.size() || std::fclose(out) != 0)
    throw UsageError("cannot write {}", file);
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  std::FILE* pipe = popen(("qemu-riscv64 " + file).c_str(), "r");
  if (pipe == nullptr) throw UsageError("cannot start qemu-riscv64");
  std::vector<Record> records(image.sequence_at.size());
  const std::size_t got = std::fread(records.data(), sizeof(Record), records.size(), pipe);
  const int status = pclose(pipe);
  if (status != 0 || got != records.size())
    throw UsageError("qemu-riscv64 ended with status {:#x} after {} of {} results", status, got,
                     records.size());
  return records;
}

bool qemu_exists() { return std::system("qemu-riscv64 --version > /dev/null 2>&1") == 0; }

}  // namespace rubato::chip::isa::test
