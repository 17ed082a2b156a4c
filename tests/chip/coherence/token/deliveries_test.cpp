// Requests that change nothing where they arrive are no events (K26): with coherence.deliver_all they are,
// and nothing else differs.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "base/rng.hpp"
#include "chip/coherence/token/token_tiles.hpp"
#include "chip/noc/mesh.hpp"
#include "chip/stats/registry.hpp"
#include "tests/chip/coherence/rig.hpp"

namespace rubato::chip {
namespace {

/// Accesses one at a time, each with all that it entails, on caches of a few lines. Concurrent accesses would
/// depend on the order in which links and ports are booked, and that differs.
struct OneByOne final : AccessClient {
  explicit OneByOne(bool delivers_all)
      : config(resolve(config_of(delivers_all))),
        mesh(make_mesh(config)),
        memory(make_memory_system(config, *mesh, none, &timeline, this)) {
    dynamic_cast<TokenTiles&>(*memory).on_violation([](const std::string& what) { throw Violation(what); });
  }
  static Config config_of(bool delivers_all) {
    Config c = tiny_caches(16, 1);
    c.coherence.protocol = "tokenb";
    c.coherence.deliver_all = delivers_all;
    return c;
  }
  void on_access_ready(CoreId core, LineAddr line, Cycle now) override {
    if (memory->access(core, line, kind, now).done) done = now;
  }
  void run(std::uint64_t accesses) {
    Rng rng(3);
    for (std::uint64_t i = 0; i < accesses; ++i) {
      const CoreId core{static_cast<std::uint32_t>(rng.below(16))};
      const LineAddr line{4096 + rng.below(300)};
      kind = rng.below(3) == 0 ? AccessKind::store : AccessKind::load;
      const Cycle now = timeline.now();
      done = Cycle{};
      const AccessResult result = memory->access(core, line, kind, now);
      if (result.done) done = result.cycle;
      while (timeline.step()) ++events;
      ASSERT_NE(done, Cycle{});
      cycles += done - now;
    }
    ASSERT_EQ(memory->check_invariants(), "");
  }
  /// Counts of everything, but cycles that depend on when an event is handled.
  std::map<std::string, std::uint64_t> counts() const {
    StatRegistry registry;
    memory->register_stats(registry);
    mesh->register_stats(registry);
    std::map<std::string, std::uint64_t> all;
    for (const Stat& stat : registry.stats())
      if (stat.counter != nullptr) all[stat.name] = *stat.counter;
    return all;
  }

  Config config;
  NoConflictCheck none;
  Timeline timeline;
  std::unique_ptr<Mesh> mesh;
  std::unique_ptr<MemoryHierarchy> memory;
  AccessKind kind{};
  Cycle done{};
  std::uint64_t cycles = 0, events = 0;
};

TEST(Deliveries, OfNothingTakeTheSameTimeAndTrafficWithEventsAndWithout) {
  OneByOne with(true), without(false);
  with.run(4000);
  without.run(4000);
  EXPECT_EQ(with.cycles, without.cycles);
  EXPECT_EQ(with.counts(), without.counts());
  EXPECT_LT(without.events * 2, with.events) << "most tiles have nothing of a line";
}

}  // namespace
}  // namespace rubato::chip
