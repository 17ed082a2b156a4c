// Division of work between a protocol and the kit below it: a protocol of a single tile, which asks nothing
// but memory.
// SPDX-License-Identifier: MIT
#include "chip/coherence/cache_protocol.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "chip/stats/registry.hpp"
#include "tests/chip/coherence/rig.hpp"

namespace rubato::chip {
namespace {

class OneTile final : public CacheProtocol {
 public:
  OneTile(const Config& config, ConflictCheck& conflicts) : CacheProtocol(config, conflicts, 0) {}

  AccessResult access(CoreId core, LineAddr own, AccessKind kind, Cycle now) override {
    return private_path_.access(core, own, kind, now, [&](std::uint32_t l1_slot, bool) {
      return leave_l1(private_path_.describe(core, own, kind), l1_slot, now);
    });
  }
  void warm(CoreId core, LineAddr line, AccessKind kind) override {
    const Warming::Scope scope(parts_.warming);
    access(core, line, kind, Cycle{});
  }
  void forget(LineAddr first, LineAddr last) override {
    for (std::uint64_t l = first.value; l <= last.value; ++l)
      if (const std::uint32_t slot = l2().array().find(LineAddr{l}); slot != TileCaches::kNoSlot) evict(slot);
  }
  std::uint64_t fewest_sets() const override { return parts_.tiles[0].array().sets(); }
  std::uint64_t possible_holders(LineAddr) const override { return parts_.groups.all(); }
  void register_stats(StatRegistry& registry) const override {
    parts_.register_stats(registry);
    parts_.register_tile(registry, 0, none_, no_accesses_);
  }
  std::string check_invariants() const override { return {}; }

  bool asks_l1s = true;  ///< false: a fault

 private:
  TileCaches& l2() { return parts_.tiles[0]; }
  /// access() asks no prefetcher.
  void prefetch_line(CoreId, LineAddr, LineAddr, Cycle) override {}
  AccessResult leave_l1(const PrivateAccess& r, std::uint32_t l1_slot, Cycle now) {
    Path path(now);
    path.spend(&AccessParts::l1, parts_.l1_latency(r.kind));
    path.until(&AccessParts::l2, parts_.look_up_l2(r.tile, path.at()));
    std::uint32_t slot = l2().array().find(r.line);
    const bool was_here = slot != TileCaches::kNoSlot;
    count(was_here ? l2().counters.hits : l2().counters.misses);
    ServedBy served = was_here ? ServedBy::l2 : ServedBy::memory;
    if (!was_here) slot = fetch(r.line, path);
    l2().array().use(slot);
    if (asks_l1s && private_path_.ask_l1s(r, slot, path)) served = ServedBy::other_l1;
    private_path_.fill_l1(r, l1_slot, slot, true, was_here, path);
    return path.done(served);
  }
  std::uint32_t fetch(LineAddr line, Path& path) {
    path.until(&AccessParts::memory, parts_.read_memory(line, path.at()));
    const std::uint32_t slot = l2().array().victim(line);
    if (!l2().array().is_empty(slot)) evict(slot);
    l2().array().fill(slot, line).state = LineState::exclusive;
    parts_.versions.read_memory(line, l2().place(slot));
    return slot;
  }
  void evict(std::uint32_t slot) {
    l2().invalidate_l1s(slot);
    parts_.versions.write_memory(l2().place(slot), l2().array().line_at(slot));
    l2().erase(slot);
  }

  LlcCounters none_;
  ArrayAccesses no_accesses_;
};

struct ProtocolOfOneTile : testing::Test {
  ProtocolOfOneTile() : config(resolve(tiny_caches(4, 4))), protocol(config, none) {
    protocol.on_violation([this](const std::string& what) { reports.push_back(what); });
  }
  void use_at_random(unsigned accesses) {
    Rng rng(1);
    for (std::uint64_t i = 0; i < accesses; ++i) {
      const CoreId core{static_cast<std::uint32_t>(rng.below(4))};
      const AccessKind kind = rng.below(3) == 0 ? AccessKind::store : AccessKind::load;
      EXPECT_TRUE(protocol.access(core, LineAddr{4096 + rng.below(40)}, kind, Cycle{i * 1000}).done);
    }
  }
  Config config;
  NoConflictCheck none;
  OneTile protocol;
  std::vector<std::string> reports;
};

TEST_F(ProtocolOfOneTile, NoCoreUsesAnOldCopy) {
  use_at_random(20000);
  EXPECT_TRUE(reports.empty()) << reports.front();
  EXPECT_GT(protocol.controller(0).reads(), 40U) << "lines leave and come again";
}

TEST_F(ProtocolOfOneTile, ATileThatAsksNoL1IsFound) {
  protocol.asks_l1s = false;
  use_at_random(20000);
  EXPECT_FALSE(reports.empty());
}

TEST_F(ProtocolOfOneTile, AnAccessTakesTheLatenciesOfItsWay) {
  const LineAddr line{4096};
  const AccessResult first = protocol.access(CoreId{0}, line, AccessKind::load, Cycle{1000});
  EXPECT_EQ(first.served_by, ServedBy::memory);
  EXPECT_EQ(first.parts.l1, 2U);
  EXPECT_EQ(first.parts.l2, 7U);
  EXPECT_EQ(first.parts.memory, config.mem.latency);
  const AccessResult again = protocol.access(CoreId{0}, line, AccessKind::store, Cycle{2000});
  EXPECT_EQ(again.cycle, Cycle{2002}) << "it was exclusive";
  const AccessResult other = protocol.access(CoreId{1}, line, AccessKind::load, Cycle{3000});
  EXPECT_EQ(other.served_by, ServedBy::other_l1);
  EXPECT_EQ(other.cycle, Cycle{3000 + 2 + 7 + 2});
}

TEST_F(ProtocolOfOneTile, WarmingLeavesTheLineAndNoTrace) {
  protocol.warm(CoreId{0}, LineAddr{4096}, AccessKind::load);
  EXPECT_EQ(protocol.l1d(CoreId{0}).state(LineAddr{4096}), LineState::exclusive);
  StatRegistry registry;
  protocol.register_stats(registry);
  for (const Stat& stat : registry.stats())
    EXPECT_EQ(stat.counter != nullptr ? *stat.counter : 0, 0U) << stat.name;
  protocol.forget(LineAddr{4096}, LineAddr{4096});
  EXPECT_EQ(protocol.l1d(CoreId{0}).state(LineAddr{4096}), LineState::invalid);
}

}  // namespace
}  // namespace rubato::chip
