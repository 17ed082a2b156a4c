// Host time of the memory system's paths on the 256-core chip: L1 hits inline, L2 hits, LLC hits over the
// mesh, lines of another tile, memory. The simulator spends its time on these.
// SPDX-License-Identifier: MIT
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "base/rng.hpp"
#include "chip/coherence/memory_hierarchy.hpp"
#include "chip/noc/mesh.hpp"

namespace rubato::chip {
namespace {

struct Machine {
  Machine() : config(resolve(Config{})), mesh(make_mesh(config)) {
    memory = make_memory_system(config, *mesh, none);
  }
  Config config;
  NoConflictCheck none;
  std::unique_ptr<Mesh> mesh;
  std::unique_ptr<MemoryHierarchy> memory;
};

struct Access {
  CoreId core;
  LineAddr line;
};

void access_all(benchmark::State& state, Machine& m, const std::vector<Access>& accesses, AccessKind kind,
                std::uint64_t cycles_between) {
  std::uint64_t now = 1000;
  std::size_t i = 0;
  ServedBy served{};
  for (auto _ : state) {
    const Access& a = accesses[i];
    i = i + 1 == accesses.size() ? 0 : i + 1;
    now += cycles_between;
    const AccessResult r = m.memory->access(a.core, a.line, kind, Cycle{now});
    served = r.served_by;
    benchmark::DoNotOptimize(r.cycle);
  }
  state.counters["served_by"] = static_cast<double>(served);
}

void l1_hit(benchmark::State& state) {
  Machine m;
  L1Cache& l1 = m.memory->l1d(CoreId{0});
  for (std::uint64_t i = 0; i < 64; ++i)
    m.memory->access(CoreId{0}, LineAddr{4096 + i}, AccessKind::store, Cycle{i});
  for (std::uint64_t i = 0; i < 64; ++i) l1.hit(LineAddr{4096 + i}, true);
  std::uint64_t i = 0;
  for (auto _ : state) {
    ++i;
    benchmark::DoNotOptimize(l1.hit(LineAddr{4096 + (i & 63)}, (i & 1) != 0));
  }
}

/// Every core walks more lines than its L1 and fewer than its share of the L2.
void l2_hit(benchmark::State& state) {
  Machine m;
  std::vector<Access> accesses;
  for (std::uint64_t i = 0; i < 768; ++i)
    for (std::uint32_t c = 0; c < 256; ++c) accesses.push_back({CoreId{c}, LineAddr{(c + 1) * 4096 + i}});
  for (const Access& a : accesses) m.memory->warm(a.core, a.line, AccessKind::load);
  access_all(state, m, accesses, AccessKind::load, 1);
}

/// Random lines that two tiles have read, so that the home's copy serves the next reader; 16 MB of them.
void llc_hit(benchmark::State& state) {
  Machine m;
  std::vector<Access> accesses;
  Rng rng(1);
  for (std::uint64_t i = 0; i < 262144; ++i)
    for (const std::uint32_t c : {1U, 77U}) m.memory->warm(CoreId{c}, LineAddr{4096 + i}, AccessKind::load);
  for (std::uint64_t i = 0; i < 1 << 19; ++i)
    accesses.push_back(
        {CoreId{static_cast<std::uint32_t>(rng.below(256))}, LineAddr{4096 + rng.below(262144)}});
  access_all(state, m, accesses, AccessKind::load, 4);
}

/// Cores of different tiles write the same few lines: each comes from its last writer.
void other_tile(benchmark::State& state) {
  Machine m;
  std::vector<Access> accesses;
  Rng rng(2);
  for (std::uint64_t i = 0; i < 1 << 18; ++i)
    accesses.push_back(
        {CoreId{static_cast<std::uint32_t>(rng.below(256))}, LineAddr{4096 + rng.below(8192)}});
  access_all(state, m, accesses, AccessKind::store, 8);
}

/// Random lines of 1 GB: every access ends in memory, and evicts from L2 and LLC.
void memory_access(benchmark::State& state) {
  Machine m;
  std::vector<Access> accesses;
  Rng rng(3);
  for (std::uint64_t i = 0; i < 1 << 21; ++i)
    accesses.push_back(
        {CoreId{static_cast<std::uint32_t>(rng.below(256))}, LineAddr{4096 + rng.below(1 << 24)}});
  for (const Access& a : accesses) m.memory->warm(a.core, a.line, AccessKind::load);
  access_all(state, m, accesses, AccessKind::load, 8);
}

void mesh_message(benchmark::State& state) {
  Machine m;
  Rng rng(4);
  std::vector<std::uint32_t> tiles;
  for (int i = 0; i < 8192; ++i) tiles.push_back(static_cast<std::uint32_t>(rng.below(64)));
  std::uint64_t now = 0;
  std::size_t i = 0;
  for (auto _ : state) {
    now += 2;
    i = (i + 2) & 8190;
    benchmark::DoNotOptimize(m.mesh->send(TileId{tiles[i]}, TileId{tiles[i + 1]},
                                          {message::kLine, TrafficClass::memory}, Cycle{now}));
  }
}

BENCHMARK(l1_hit);
BENCHMARK(l2_hit);
BENCHMARK(llc_hit);
BENCHMARK(other_tile);
BENCHMARK(memory_access);
BENCHMARK(mesh_message);

}  // namespace
}  // namespace rubato::chip
