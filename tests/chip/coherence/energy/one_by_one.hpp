// A memory system of any protocol whose accesses come one at a time, each with all that it entails, and what
// its statistics count.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "chip/coherence/memory_hierarchy.hpp"
#include "chip/session/stats_json.hpp"
#include "chip/stats/registry.hpp"
#include "chip/time/timeline.hpp"
#include "tests/chip/coherence/rig.hpp"

namespace rubato::chip {

using CountsByKind = std::map<std::string, std::uint64_t>;

class OneAtATime final : public AccessClient {
 public:
  explicit OneAtATime(const Config& config)
      : config_(resolve(config)),
        mesh_(make_mesh(config_)),
        memory_(make_memory_system(config_, *mesh_, none_, &timeline_, this)) {
    memory_->register_stats(registry_);
    mesh_->register_stats(registry_);
  }

  /// A core's load or store: its L1 first, then the memory system, until nothing is left to happen.
  void use(std::uint32_t core, LineAddr line, AccessKind kind) {
    if (memory_->l1d(CoreId{core}).hit(line, kind == AccessKind::store)) return;
    kind_ = kind;
    is_done_ = memory_->access(CoreId{core}, line, kind, now_).done;
    while (timeline_.step()) {
    }
    now_ = timeline_.now() + 1000;
    ASSERT_TRUE(is_done_);
  }
  void warm(std::uint32_t core, LineAddr line, AccessKind kind) { memory_->warm(CoreId{core}, line, kind); }
  bool has_in_l1(std::uint32_t core, LineAddr line) {
    return memory_->l1d(CoreId{core}).find(line) != L1Cache::kNoSlot;
  }
  TileId home_of(LineAddr line) const { return memory_->home_of(line); }
  std::string check_invariants() const { return memory_->check_invariants(); }

  /// Sums of all counters by kind; those that are 0 are left out.
  CountsByKind counts() const {
    CountsByKind sums;
    for (const Stat& stat : registry_.stats())
      if (stat.counter != nullptr && *stat.counter != 0) sums[kind_of(stat.name)] += *stat.counter;
    return sums;
  }

  /// All histograms of a kind added up.
  Histogram latencies(const std::string& kind) const {
    Histogram sum;
    for (const Stat& stat : registry_.stats())
      if (stat.histogram != nullptr && kind_of(stat.name) == kind) sum.add_difference(*stat.histogram, {});
    return sum;
  }

 private:
  void on_access_ready(CoreId core, LineAddr line, Cycle now) override {
    is_done_ = is_done_ || memory_->access(core, line, kind_, now).done;
  }

  Config config_;
  NoConflictCheck none_;
  Timeline timeline_;
  std::unique_ptr<Mesh> mesh_;
  std::unique_ptr<MemoryHierarchy> memory_;
  StatRegistry registry_;
  AccessKind kind_{};
  Cycle now_{};
  bool is_done_ = false;
};

}  // namespace rubato::chip
