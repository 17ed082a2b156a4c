// What a tile keeps of the lines that it asked for: at most l2.mshrs at a time (K15), and under tokenb the
// line of a load-reserved until its store-conditional has had time (K13).
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chip/coherence/token/token_tiles.hpp"
#include "chip/noc/mesh.hpp"
#include "chip/stats/registry.hpp"
#include "tests/chip/coherence/rig.hpp"

namespace rubato::chip {
namespace {

constexpr LineAddr kLine{4096}, kOther{4097}, kThird{4098};

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
    for (const Use& use : uses_) EXPECT_TRUE(use.done) << "an access waits for ever";
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

 private:
  struct Use {
    CoreId core;
    LineAddr line;
    AccessKind kind;
    std::optional<Cycle> done;
  };
  Cycle use_of(std::size_t n) const { return uses_[n].done.value_or(Cycle{}); }
  void try_to_use(Use& use) {
    if (memory_->access(use.core, use.line, use.kind, timeline_.now()).done) use.done = timeline_.now();
  }
  void on_access_ready(CoreId core, LineAddr line, Cycle now) override {
    for (std::size_t n = 0; n < uses_.size(); ++n)
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
};

Config tiles(const char* protocol, std::uint32_t cores, std::uint32_t per_tile) {
  Config config = tiny_caches(cores, per_tile);
  config.coherence.protocol = protocol;
  config.coherence.capacity = 4;
  return config;
}

class Entries : public testing::TestWithParam<const char*> {
 protected:
  /// Two cores of a tile ask for three lines at once. @returns when the last has come.
  Cycle last_of_three(std::uint32_t mshrs, double refusals) {
    Config config = tiles(GetParam(), 4, 2);
    config.l2.mshrs = mshrs;
    Users users(config);
    users.ask(0, kLine, AccessKind::load);
    users.ask(1, kOther, AccessKind::store);
    users.ask(0, kThird, AccessKind::load);
    users.ask(1, kLine, AccessKind::load);  // of a line that has an entry: it needs none of its own
    const Cycle last = users.performed(2);
    EXPECT_EQ(users.sum_of("tile.0.l2.refusals"), refusals);
    return last;
  }
};

TEST_P(Entries, AreAsManyAsTheKeySays) {
  const Cycle free = last_of_three(0, 0), three = last_of_three(3, 0);
  EXPECT_EQ(free, three) << "as many as are needed";
  const Cycle two = last_of_three(2, 1), one = last_of_three(1, 3);
  EXPECT_GT(two, three + 100) << "the third waits for one of the others";
  EXPECT_GT(one, two + 100) << "each waits for the one before";
}

TEST_P(Entries, AreFreeAgainIfNoCoreUsesWhatCame) {
  Config config = tiles(GetParam(), 4, 2);
  config.l2.mshrs = 1;
  Users users(config);
  users.ask(0, kLine, AccessKind::load);
  users.ask(1, kOther, AccessKind::load);
  users.give_up(0);
  EXPECT_GT(users.performed(1), Cycle{});
}

// A spill replaces a line: its old bytes are of no use to it, and memory is not read for them.
TEST_P(Entries, OfALineThatIsReplacedAreServedWithoutAReadOfMemory) {
  Users users(tiles(GetParam(), 4, 1));
  const auto reads = [&] {
    double sum = 0;
    for (unsigned m = 0; m < 4; ++m) sum += users.sum_of("mem." + std::to_string(m) + ".reads");
    return sum;
  };
  users.ask(0, kLine, AccessKind::untracked_line_store);
  users.performed(0);
  EXPECT_EQ(reads(), 0);
  users.ask(1, kLine, AccessKind::load);
  users.performed(1);
  EXPECT_EQ(reads(), 0) << "the tile has the line";
  users.ask(1, kOther, AccessKind::load);
  users.performed(2);
  EXPECT_EQ(reads(), 1);
}

INSTANTIATE_TEST_SUITE_P(Tokens, Entries, testing::Values("sparse", "tokenb", "mosaic", "flask"),
                         [](const auto& of) { return std::string(of.param); });

/// A load-reserved of core 0, and a store of core 1 that is made when the line is there. @returns how long
/// after the load-reserved it is performed.
Latency store_after_reserve(const char* protocol, std::uint32_t hold, AccessKind kind) {
  Config config = tiles(protocol, 2, 1);
  config.coherence.hold = hold;
  Users users(config);
  users.ask(0, kLine, kind);
  users.run_until_performed(0);
  users.ask(1, kLine, AccessKind::store);
  return users.performed(1) - users.performed(0);
}

TEST(ReservedUnderTokenB, ComesWithTheRightToWrite) {
  Users users(tiles("tokenb", 2, 1));
  users.ask(1, kLine, AccessKind::load);  // so that memory and slice have not all tokens
  users.performed(0);
  users.ask(0, kLine, AccessKind::reserve);
  users.performed(1);
  EXPECT_TRUE(users.l1d(0).hit(kLine, true)) << "the sc needs no message";
}

TEST(ReservedUnderOthers, ComesAsALoadDoes) {
  for (const char* protocol : {"sparse", "mosaic", "flask"}) {
    Users users(tiles(protocol, 2, 1));
    users.ask(1, kLine, AccessKind::load);
    users.performed(0);
    users.ask(0, kLine, AccessKind::reserve);
    users.performed(1);
    EXPECT_FALSE(users.l1d(0).hit(kLine, true)) << protocol;
    EXPECT_EQ(store_after_reserve(protocol, 0, AccessKind::reserve),
              store_after_reserve(protocol, 5000, AccessKind::reserve));
  }
}

TEST(ReservedUnderTokenB, IsKeptForAsLongAsTheKeySays) {
  const Latency without = store_after_reserve("tokenb", 0, AccessKind::reserve);
  EXPECT_LT(without, 500U);
  EXPECT_GE(store_after_reserve("tokenb", 3000, AccessKind::reserve), 3000U);
  EXPECT_LT(store_after_reserve("tokenb", 3000, AccessKind::load), 500U) << "a load's is not";
}

TEST(ReservedUnderTokenB, IsKeptOnceARequest) {
  Config config = tiles("tokenb", 2, 1);
  config.coherence.hold = 2000;
  Users users(config);
  users.ask(0, kLine, AccessKind::reserve);
  users.run_until_performed(0);
  users.ask(1, kLine, AccessKind::store);
  for (unsigned n = 2; n < 6; ++n) {  // it spins, without an sc
    users.ask(0, kLine, AccessKind::reserve);
    ASSERT_TRUE(users.is_performed(n));
  }
  EXPECT_LT(users.performed(1) - users.performed(0), 8000U);
}

}  // namespace
}  // namespace rubato::chip
