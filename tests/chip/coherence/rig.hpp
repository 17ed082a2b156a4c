// A memory system with its mesh for tests, and lines found by where they live.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "chip/coherence/mesi.hpp"
#include "chip/config/config.hpp"
#include "chip/noc/mesh.hpp"
#include "chip/speculation/conflict_check.hpp"

namespace rubato::chip {

struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Rig {
  explicit Rig(Config c, ConflictCheck* check = nullptr)
      : config(resolve(std::move(c))),
        mesh(make_mesh(config)),
        mesi(config, *mesh, check != nullptr ? *check : none) {
    mesi.on_violation([](const std::string& what) { throw Violation(what); });
  }

  AccessResult access(std::uint32_t core, LineAddr line, AccessKind kind, std::uint64_t now) {
    return mesi.access(CoreId{core}, line, kind, Cycle{now});
  }
  /// Access of a core: its L1 first, then the memory system.
  void use(std::uint32_t core, LineAddr line, AccessKind kind, std::uint64_t now) {
    L1Cache& l1 = kind == AccessKind::fetch ? mesi.l1i(CoreId{core}) : mesi.l1d(CoreId{core});
    const bool write = kind == AccessKind::store || kind == AccessKind::atomic;
    if (!l1.hit(line, write)) access(core, line, kind, now);
  }
  /// The `n`th line at or after `from` whose home is `home` and whose controller is at tile `at` (any, if
  /// kAny).
  static constexpr std::uint32_t kAny = ~0U;
  LineAddr line_at(std::uint32_t home, std::uint32_t at = kAny, unsigned n = 0,
                   std::uint64_t from = 1 << 20) const {
    for (;; ++from) {
      if (mesi.home_of(LineAddr{from}).value != home) continue;
      if (at != kAny && mesi.controller_tile_of(LineAddr{from}).value != at) continue;
      if (n-- == 0) return LineAddr{from};
    }
  }

  Config config;
  NoConflictCheck none;
  std::unique_ptr<Mesh> mesh;
  Mesi mesi;
};

/// A chip of `cores` cores with caches of a few lines, so that evictions and recalls are common; checks on.
inline Config tiny_caches(std::uint32_t cores, std::uint32_t cores_per_tile) {
  Config c;
  c.chip.cores = cores;
  c.chip.cores_per_tile = cores_per_tile;
  c.l1i = {.size = 256, .ways = 2, .latency = 2};
  c.l1d = {.size = 256, .ways = 2, .latency = 2};
  c.l2 = {.size = 1024, .ways = 4, .latency = 7};
  c.llc = {.size = 2048, .ways = 4, .latency = 9};
  c.coherence.check = true;
  return c;
}

}  // namespace rubato::chip
