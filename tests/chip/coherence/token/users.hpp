// Cores that ask a token protocol for lines, and tiles of a few lines for them.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chip/coherence/token/token_tiles.hpp"
#include "chip/noc/mesh.hpp"
#include "chip/stats/registry.hpp"
#include "tests/chip/coherence/rig.hpp"

namespace rubato::chip {

/// Cores that use what they wait for as soon as they are told.
class Users final : public AccessClient, private EventHandler {
 public:
  explicit Users(const Config& config)
      : config_(resolve(config)),
        mesh_(make_mesh(config_)),
        memory_(make_memory_system(config_, *mesh_, none_, &timeline_, this)) {
    dynamic_cast<TokenTiles&>(*memory_).on_violation([](const std::string& what) { throw Violation(what); });
  }

  void ask(std::uint32_t core, LineAddr line, AccessKind kind) {
    uses_.push_back({CoreId{core}, line, kind, {}});
    try_to_use(uses_.back());
  }
  /// When the `n`th access was performed, all others having been, too, after which nothing is left to happen.
  Cycle performed(std::size_t n) {
    while (timeline_.step()) {
    }
    for (std::size_t i = first_open(); i < uses_.size(); ++i)
      EXPECT_TRUE(uses_[i].done) << "an access waits for ever";
    EXPECT_EQ(memory_->check_invariants(), "");
    return use_of(n);
  }
  /// Its core has gone away.
  void give_up(std::size_t n) { uses_[n].done = Cycle{}; }
  bool is_performed(std::size_t n) const { return uses_[n].done.has_value(); }
  void run_until_performed(std::size_t n) {
    while (!is_performed(n)) ASSERT_TRUE(timeline_.step());
  }
  double sum_of(const std::string& name) const {
    StatRegistry registry;
    memory_->register_stats(registry);
    double sum = 0;
    for (const auto& stat : registry.stats())
      if (stat.name == name && stat.counter != nullptr) sum += static_cast<double>(*stat.counter);
    return sum;
  }
  L1Cache& l1d(std::uint32_t core) { return memory_->l1d(CoreId{core}); }
  MemoryHierarchy& memory() { return *memory_; }
  bool step() { return timeline_.step(); }
  Cycle now() const { return timeline_.now(); }
  /// The `n`th line from `from` on, at distances of `step`, whose home is `home`.
  LineAddr line_of(TileId home, unsigned n, std::uint64_t from = 4096, std::uint64_t step = 1) const {
    for (;; from += step)
      if (memory_->home_of(LineAddr{from}) == home && n-- == 0) return LineAddr{from};
  }

 private:
  struct Use {
    CoreId core;
    LineAddr line;
    AccessKind kind;
    std::optional<Cycle> done;
  };
  /// Uses before this one are performed.
  std::size_t first_open() {
    while (first_open_ < uses_.size() && uses_[first_open_].done) ++first_open_;
    return first_open_;
  }
  Cycle use_of(std::size_t n) const { return uses_[n].done.value_or(Cycle{}); }
  void try_to_use(Use& use) {
    if (memory_->access(use.core, use.line, use.kind, timeline_.now()).done) use.done = timeline_.now();
  }
  void on_access_ready(CoreId core, LineAddr line, Cycle now) override {
    for (std::size_t n = first_open(); n < uses_.size(); ++n)
      if (!uses_[n].done && uses_[n].core == core && uses_[n].line == line)
        timeline_.schedule(now, this, 0, n);
  }
  void on_event(Cycle, std::uint32_t, std::uint64_t n) override {
    if (!uses_[n].done) try_to_use(uses_[n]);
  }

  Config config_;
  NoConflictCheck none_;
  Timeline timeline_;
  std::unique_ptr<Mesh> mesh_;
  std::unique_ptr<MemoryHierarchy> memory_;
  std::vector<Use> uses_;
  std::size_t first_open_ = 0;
};

inline Config tiles(const char* protocol, std::uint32_t cores, std::uint32_t per_tile) {
  Config config = tiny_caches(cores, per_tile);
  config.coherence.protocol = protocol;
  config.coherence.capacity = 4;
  return config;
}

}  // namespace rubato::chip
