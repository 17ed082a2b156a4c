// Random accesses of cores that wait for each answer, on caches, directories and filters of a few lines, and
// on a network that delays any message at will (K93). Every use is checked for the newest version, and every
// line at the end of each of its transactions. Every core gets the line that it waits for (C21, K91).
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "chip/coherence/token/token_broadcast.hpp"
#include "chip/coherence/token/token_protocol.hpp"
#include "chip/noc/mesh.hpp"
#include "tests/chip/coherence/rig.hpp"
#include "tests/chip/coherence/token/late_network.hpp"

namespace rubato::chip {
namespace {

struct Crowd {
  const char* name;
  const char* protocol;
  std::uint32_t cores, cores_per_tile, lines;
  std::uint32_t ways, directory_ways;
  double capacity;
  const char* filter;
  std::uint64_t jitter;
  std::uint32_t llc_ways = 4;  // of 2 KiB a slice
  bool is_exclusive = false;   // the L2; and slices by the lowest bits of lines
  std::uint32_t mshrs = 0;
  bool is_variant = false;   // of what the filter counts and when mosaic probes
  std::uint32_t tokens = 0;  // of a line, if more than tiles
  std::uint32_t sharer_bits = 64;
  bool delivers_all = false;
  bool moves = false;  // the split between directory and filter
  const char* prefetcher = "none";
  std::uint32_t banks = 1;  // of a slice
};

class Cores final : public EventHandler, public AccessClient {
 public:
  Cores(const Crowd& crowd, std::uint64_t seed, std::uint64_t accesses)
      : crowd_(crowd),
        config_(resolve(config_of(crowd))),
        mesh_(make_mesh(config_)),
        network_(*mesh_, crowd.jitter, seed + 1),
        memory_(make_memory_system(config_, network_, none_, &timeline_, this)),
        protocol_(dynamic_cast<TokenTiles&>(*memory_)),
        rng_(seed),
        left_(accesses),
        waiting_(crowd.cores) {
    protocol_.on_violation([](const std::string& what) { throw Violation(what); });
    for (std::uint32_t c = 0; c < crowd.cores; ++c) timeline_.schedule(Cycle{c}, this, 0, c);
  }

  void run() {
    while (timeline_.step()) {
      if (now_and_then() && rng_.below(4) == 0) {
        const LineAddr line{4096 + rng_.below(crowd_.lines)};
        protocol_.forget(line, LineAddr{line.value + rng_.below(3)});
      }
      if (now_and_then() && rng_.below(4) == 0)
        protocol_.warm(CoreId{static_cast<std::uint32_t>(rng_.below(crowd_.cores))},
                       LineAddr{4096 + rng_.below(crowd_.lines)}, AccessKind::store);
      if (crowd_.moves && rng_.below(256) == 0)
        dynamic_cast<TokenProtocol&>(protocol_).set_directory_ways(
            TileId{static_cast<std::uint32_t>(rng_.below(config_.tiles()))},
            static_cast<std::uint32_t>(1 + rng_.below(crowd_.ways - 1)));
    }
    for (const Wait& w : waiting_) EXPECT_FALSE(w.waits) << "a core waits for ever";
    EXPECT_EQ(protocol_.check_invariants(), "");
  }
  std::uint64_t sum() const { return sum_; }
  std::uint64_t longest() const { return longest_; }
  const TokenTiles& protocol() const { return protocol_; }

 private:
  struct Wait {
    bool waits = false;
    LineAddr line{};
    AccessKind kind{};
    Cycle since{};
  };

  static Config config_of(const Crowd& crowd) {
    Config c = tiny_caches(crowd.cores, crowd.cores_per_tile);
    c.llc = {.size = 2048, .ways = crowd.llc_ways, .latency = 9};
    c.llc.banks = crowd.banks;
    c.coherence.protocol = crowd.protocol;
    c.coherence.ways = crowd.ways;
    c.coherence.directory_ways = crowd.directory_ways;
    c.coherence.capacity = crowd.capacity;
    c.coherence.filter = crowd.filter;
    c.l2.mshrs = crowd.mshrs;
    c.l1d.prefetcher = crowd.prefetcher;
    c.l1d.prefetch_degree = 4;
    c.coherence.tokens = crowd.tokens;
    c.coherence.sharer_bits = crowd.sharer_bits;
    c.coherence.deliver_all = crowd.delivers_all;
    if (crowd.moves) c.coherence.partition = "adaptive";
    if (crowd.is_variant) c.coherence.filter_counts = "chip", c.coherence.mosaic_probe = "needed";
    if (crowd.is_exclusive) {
      c.l2.inclusion = "exclusive";
      c.llc.interleave = "low";
    }
    return c;
  }
  /// A page for each core if neighbours prefetch: a prefetch reads, too.
  std::uint64_t private_lines() const { return config_.l1d.prefetcher == "none" ? 8 : 64; }
  bool now_and_then() { return rng_.below(64) == 0; }

  void on_access_ready(CoreId core, LineAddr, Cycle now) override {
    if (waiting_[core.value].waits) timeline_.schedule(now, this, 0, core.value);
  }
  void on_event(Cycle now, std::uint32_t, std::uint64_t core) override {
    Wait& w = waiting_[core];
    if (!w.waits) {
      if (left_ == 0) return;
      --left_;
      constexpr AccessKind kinds[] = {AccessKind::load,
                                      AccessKind::load,
                                      AccessKind::reserve,
                                      AccessKind::store,
                                      AccessKind::atomic,
                                      AccessKind::fetch,
                                      AccessKind::untracked_line_store};
      w = {true, LineAddr{4096 + rng_.below(crowd_.lines)}, kinds[rng_.below(std::size(kinds))], now};
      // Lines that are replaced as a whole are private: until the owner has written one, no other core may
      // read it.
      if (w.kind == AccessKind::untracked_line_store || rng_.below(8) == 0)
        w.line = LineAddr{65536 + core * private_lines() + rng_.below(4)};
    }
    const CoreId id{static_cast<std::uint32_t>(core)};
    L1Cache& l1 = w.kind == AccessKind::fetch ? protocol_.l1i(id) : protocol_.l1d(id);
    AccessResult result{.cycle = now + 1};
    // As a core does. A store of a whole line needs no old data, which a hit would check.
    const bool asks = w.kind != AccessKind::untracked_line_store;
    if (!asks || !l1.hit(w.line, is_write(w.kind))) result = protocol_.access(id, w.line, w.kind, now);
    if (!result.done) return;
    longest_ = std::max(longest_, now - w.since);
    sum_ = mix64(sum_ ^ result.cycle.value);
    w.waits = false;
    timeline_.schedule(result.cycle + rng_.below(8), this, 0, core);
  }

  Crowd crowd_;
  Config config_;
  NoConflictCheck none_;
  Timeline timeline_;
  std::unique_ptr<Mesh> mesh_;
  LateNetwork network_;
  std::unique_ptr<MemoryHierarchy> memory_;
  TokenTiles& protocol_;
  Rng rng_;
  std::uint64_t left_, sum_ = 0, longest_ = 0;
  std::vector<Wait> waiting_;
};

class RandomTester : public testing::TestWithParam<Crowd> {};

/// `make test-long` asks for more.
std::uint64_t accesses() {
  const char* const asked = std::getenv("RUBATO_RANDOM_ACCESSES");
  return asked != nullptr ? std::stoull(asked) : 20'000;
}

TEST_P(RandomTester, KeepsEveryInvariantAndServesEverybody) {
  Cores cores(GetParam(), 1, accesses());
  ASSERT_NO_THROW(cores.run());
  // Bound for a fair queue of all cores at one line: far below the wait after a lost message or in an unfair
  // queue.
  EXPECT_LT(cores.longest(), 200'000U);
}

TEST_P(RandomTester, IsAFunctionOfItsInputs) {
  Cores a(GetParam(), 2, 3'000), b(GetParam(), 2, 3'000);
  a.run();
  b.run();
  EXPECT_EQ(a.sum(), b.sum());
}

TEST(RandomTesterReach, GoesWhereTheTablesHaveRows) {
  Cores sparse({"", "sparse", 16, 1, 80, 1, 1, 0.25, "none", 300}, 1, 20'000);
  sparse.run();
  const auto sum = [](const Cores& cores, std::uint64_t DirectoryCounters::*counter) {
    std::uint64_t total = 0;
    for (std::uint32_t t = 0; t < 16; ++t)
      total += dynamic_cast<const TokenProtocol&>(cores.protocol()).home(TileId{t}).entries.*counter;
    return total;
  };
  EXPECT_GT(sum(sparse, &DirectoryCounters::evictions), 100U);  // H13
  EXPECT_EQ(sum(sparse, &DirectoryCounters::probes), 0U);
  // K21: some at a time, and fewer than the 16 cores have requests and evictions; none is left open.
  const auto& home = dynamic_cast<const TokenProtocol&>(sparse.protocol()).home(TileId{3});
  EXPECT_GT(home.entries.most_open, 2U);
  EXPECT_LT(home.entries.most_open, 80U);
  EXPECT_EQ(home.open, 0U);
  Cores flask({"", "flask", 16, 1, 4000, 2, 1, 0.5, "dlcbf", 30}, 1, 20'000);
  flask.run();
  EXPECT_GT(sum(flask, &DirectoryCounters::incomplete), 10U);        // H12
  EXPECT_GT(sum(flask, &DirectoryCounters::rebuilt), 100U);          // H5, H7, H8
  EXPECT_GT(sum(flask, &DirectoryCounters::false_positives), 100U);  // H9 after a probe
  EXPECT_GT(sum(flask, &DirectoryCounters::filtered), 100U);         // H9 without one
  Cores chip({"", "flask", 16, 1, 4000, 2, 1, 0.5, "dlcbf", 30, 4, false, 0, true}, 1, 20'000);
  chip.run();
  EXPECT_GT(sum(chip, &DirectoryCounters::false_positives), sum(flask, &DirectoryCounters::false_positives))
      << "the LLC's lines fill its filter";
  EXPECT_EQ(sum(sparse, &DirectoryCounters::false_positives), 0U);

  Cores moves({"", "flask", 16, 1, 80, 8, 4, 2, "dlcbf", 300, 4, false, 0, false, 0, 64, false, true}, 1,
              20'000);
  moves.run();
  std::uint64_t ways_moved = 0;
  for (std::uint32_t t = 0; t < 16; ++t)
    ways_moved += dynamic_cast<const TokenProtocol&>(moves.protocol()).home(TileId{t}).split->ways_moved;
  EXPECT_GT(ways_moved, 1000U);
}

constexpr const char *kSparse = "sparse", *kMosaic = "mosaic", *kFlask = "flask", *kTokenB = "tokenb";
Crowd with_prefetcher(Crowd crowd, const char* prefetcher) {
  crowd.prefetcher = prefetcher;
  return crowd;
}

INSTANTIATE_TEST_SUITE_P(
    Prefetching, RandomTester,
    testing::Values(
        with_prefetcher({"SparseSixteen", kSparse, 16, 1, 80, 1, 1, 0.25, "none", 300}, "next_line"),
        with_prefetcher({"SparseTiles", kSparse, 16, 4, 80, 2, 1, 0.5, "none", 100}, "stride"),
        with_prefetcher({"SparseExclusive", kSparse, 16, 1, 200, 1, 1, 0.25, "none", 100, 4, true},
                        "next_line"),
        with_prefetcher({"TokenBSixteen", kTokenB, 16, 1, 80, 2, 1, 0.5, "none", 300}, "next_line"),
        with_prefetcher({"TokenBTiles", kTokenB, 16, 4, 80, 2, 1, 0.5, "none", 100, 1}, "stride"),
        with_prefetcher({"TokenBExclusive", kTokenB, 16, 1, 200, 2, 1, 0.5, "none", 100, 4, true}, "stride"),
        with_prefetcher({"TokenBTwoEntries", kTokenB, 16, 8, 40, 2, 1, 0.5, "none", 300, 4, false, 2},
                        "next_line"),
        with_prefetcher({"MosaicTiles", kMosaic, 12, 3, 80, 2, 1, 0.5, "none", 100}, "next_line"),
        with_prefetcher({"MosaicExclusive", kMosaic, 4, 1, 200, 1, 1, 0.25, "none", 300, 4, true}, "stride"),
        with_prefetcher({"FlaskSixteen", kFlask, 16, 1, 80, 2, 1, 0.5, "dlcbf", 300}, "next_line"),
        with_prefetcher({"FlaskFilterFull", kFlask, 16, 1, 4000, 2, 1, 0.5, "dlcbf", 30}, "stride"),
        with_prefetcher({"FlaskExclusive", kFlask, 16, 1, 400, 2, 1, 0.5, "dlcbf", 100, 4, true},
                        "next_line"),
        with_prefetcher({"FlaskOneEntry", kFlask, 16, 4, 80, 8, 4, 4, "exact", 100, 4, false, 1},
                        "next_line")),
    [](const auto& of) { return std::string(of.param.name); });

Crowd with_banks(std::uint32_t banks, Crowd crowd) {
  crowd.banks = banks;
  return crowd;
}

INSTANTIATE_TEST_SUITE_P(
    Banks, RandomTester,
    testing::Values(with_banks(4, {"SparseSixteen", kSparse, 16, 1, 80, 1, 1, 0.25, "none", 300}),
                    with_banks(2, {"SparseExclusive", kSparse, 16, 1, 200, 1, 1, 0.25, "none", 100, 4, true}),
                    with_banks(2, {"TokenBSixteen", kTokenB, 16, 1, 80, 2, 1, 0.5, "none", 300}),
                    with_banks(8, {"TokenBExclusive", kTokenB, 16, 1, 200, 2, 1, 0.5, "none", 100, 4, true}),
                    with_banks(2, {"MosaicTiles", kMosaic, 12, 3, 80, 2, 1, 0.5, "none", 100}),
                    with_banks(4, {"FlaskSixteen", kFlask, 16, 1, 80, 2, 1, 0.5, "dlcbf", 300}),
                    with_banks(2, {"FlaskFilterFull", kFlask, 16, 1, 4000, 2, 1, 0.5, "dlcbf", 30}),
                    with_banks(2, {"FlaskConventional", kFlask, 16, 1, 4000, 2, 1, 0.5, "cbf", 100}),
                    with_banks(2, {"FlaskExclusive", kFlask, 16, 1, 400, 2, 1, 0.5, "dlcbf", 100, 4, true})),
    [](const auto& of) { return std::string(of.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Tokens, RandomTester,
    testing::Values(
        Crowd{"SparseOneAgent", kSparse, 1, 1, 60, 1, 1, 1, "none", 0},
        Crowd{"SparseTwo", kSparse, 2, 1, 40, 1, 1, 0.25, "none", 300},
        Crowd{"SparseSixteen", kSparse, 16, 1, 80, 1, 1, 0.25, "none", 300},
        Crowd{"SparseTiles", kSparse, 16, 4, 80, 2, 1, 0.5, "none", 100},
        Crowd{"SparseSetsInUse", kSparse, 32, 8, 1200, 8, 1, 2, "none", 300, 1},
        Crowd{"SparseSixtyFour", kSparse, 64, 1, 40, 8, 1, 2, "none", 50},
        Crowd{"SparseExclusive", kSparse, 16, 1, 200, 1, 1, 0.25, "none", 100, 4, true},
        Crowd{"TokenBExclusive", kTokenB, 16, 1, 200, 2, 1, 0.5, "none", 100, 4, true},
        Crowd{"MosaicExclusive", kMosaic, 4, 1, 200, 1, 1, 0.25, "none", 300, 4, true},
        Crowd{"FlaskExclusive", kFlask, 16, 1, 400, 2, 1, 0.5, "dlcbf", 100, 4, true},
        Crowd{"TokenBOneAgent", kTokenB, 2, 2, 60, 2, 1, 0.5, "none", 0},
        Crowd{"TokenBTwo", kTokenB, 2, 1, 40, 2, 1, 0.5, "none", 300},
        Crowd{"TokenBSixteen", kTokenB, 16, 1, 80, 2, 1, 0.5, "none", 300},
        Crowd{"TokenBOneLine", kTokenB, 16, 1, 1, 2, 1, 0.5, "none", 300},
        Crowd{"TokenBTiles", kTokenB, 16, 4, 80, 2, 1, 0.5, "none", 100, 1},
        Crowd{"TokenBSixtyFour", kTokenB, 64, 1, 40, 2, 1, 0.5, "none", 50},
        Crowd{"MosaicTwo", kMosaic, 2, 1, 40, 1, 1, 0.25, "none", 300},
        Crowd{"MosaicSixteen", kMosaic, 16, 1, 80, 1, 1, 0.25, "none", 300},
        Crowd{"MosaicTiles", kMosaic, 12, 3, 80, 2, 1, 0.5, "none", 100},
        Crowd{"FlaskOneAgent", kFlask, 2, 2, 60, 2, 1, 0.5, "dlcbf", 0},
        Crowd{"FlaskTwo", kFlask, 2, 1, 40, 2, 1, 0.5, "dlcbf", 300},
        Crowd{"FlaskSixteen", kFlask, 16, 1, 80, 2, 1, 0.5, "dlcbf", 300},
        Crowd{"FlaskFilterFull", kFlask, 16, 1, 4000, 2, 1, 0.5, "dlcbf", 30},
        Crowd{"FlaskConventional", kFlask, 16, 1, 4000, 2, 1, 0.5, "cbf", 100},
        Crowd{"FlaskExact", kFlask, 16, 4, 80, 8, 4, 4, "exact", 100},
        Crowd{"FlaskBlind", kFlask, 16, 4, 80, 8, 4, 4, "none", 100},
        Crowd{"SparseOneEntry", kSparse, 16, 4, 80, 2, 1, 0.5, "none", 100, 4, false, 1},
        Crowd{"TokenBOneEntry", kTokenB, 16, 4, 80, 2, 1, 0.5, "none", 100, 1, false, 1},
        Crowd{"TokenBTwoEntries", kTokenB, 16, 8, 40, 2, 1, 0.5, "none", 300, 4, false, 2},
        Crowd{"MosaicOneEntry", kMosaic, 12, 3, 80, 2, 1, 0.5, "none", 100, 4, false, 1},
        Crowd{"MosaicTwoEntries", kMosaic, 16, 8, 80, 1, 1, 0.25, "none", 300, 1, false, 2},
        Crowd{"FlaskOneEntry", kFlask, 16, 4, 80, 8, 4, 4, "exact", 100, 4, false, 1},
        Crowd{"FlaskBlindTwoEntries", kFlask, 16, 4, 80, 8, 4, 4, "none", 100, 4, false, 2},
        Crowd{"FlaskFullTwoEntries", kFlask, 16, 4, 4000, 2, 1, 0.5, "dlcbf", 100, 1, false, 2},
        Crowd{"MosaicNeeded", kMosaic, 16, 1, 80, 1, 1, 0.25, "none", 300, 4, false, 0, true},
        Crowd{"FlaskChip", kFlask, 16, 1, 80, 2, 1, 0.5, "dlcbf", 300, 4, false, 0, true},
        Crowd{"FlaskChipFull", kFlask, 16, 1, 4000, 2, 1, 0.5, "dlcbf", 30, 1, false, 0, true},
        Crowd{"FlaskChipExact", kFlask, 16, 4, 80, 8, 4, 4, "exact", 100, 4, false, 0, true},
        Crowd{"SparseMoreTokens", kSparse, 16, 1, 80, 1, 1, 0.25, "none", 300, 4, false, 0, false, 17},
        Crowd{"FlaskTwiceTokens", kFlask, 16, 1, 80, 2, 1, 0.5, "dlcbf", 300, 4, false, 0, false, 32},
        Crowd{"TokenBTwiceTokens", kTokenB, 16, 1, 80, 2, 1, 0.5, "none", 300, 4, false, 0, false, 32},
        Crowd{"SparseCoarse", kSparse, 16, 1, 80, 1, 1, 0.25, "none", 300, 4, false, 0, false, 0, 8},
        Crowd{"SparseOneBit", kSparse, 6, 1, 80, 1, 1, 0.25, "none", 300, 4, false, 0, false, 0, 1},
        Crowd{"MosaicCoarse", kMosaic, 16, 1, 80, 1, 1, 0.25, "none", 300, 4, false, 0, false, 0, 3},
        Crowd{"FlaskCoarse", kFlask, 16, 1, 80, 2, 1, 0.5, "dlcbf", 300, 4, false, 0, false, 0, 5},
        Crowd{"TokenBAll", kTokenB, 16, 1, 80, 2, 1, 0.5, "none", 300, 4, false, 0, false, 0, 64, true},
        Crowd{"FlaskMoves", kFlask, 16, 1, 80, 8, 4, 2, "dlcbf", 300, 4, false, 0, false, 0, 64, false, true},
        Crowd{"FlaskMovesFull", kFlask, 16, 1, 4000, 4, 2, 1, "dlcbf", 30, 4, false, 0, false, 0, 64, false,
              true},
        Crowd{"FlaskMovesCoarse", kFlask, 16, 1, 80, 3, 1, 1, "dlcbf", 300, 4, false, 0, false, 0, 5, false,
              true},
        Crowd{"FlaskMovesChip", kFlask, 16, 1, 400, 4, 2, 1, "dlcbf", 100, 1, false, 0, true, 0, 64, false,
              true},
        Crowd{"FlaskMovesExclusive", kFlask, 4, 1, 400, 4, 2, 1, "dlcbf", 300, 4, true, 2, false, 0, 64,
              false, true},
        Crowd{"FlaskMovesTiles", kFlask, 16, 4, 80, 8, 4, 2, "dlcbf", 100, 4, false, 1, false, 0, 64, false,
              true},
        Crowd{"SparseHundred", kSparse, 100, 1, 120, 8, 1, 2, "none", 50},
        Crowd{"MosaicHundred", kMosaic, 100, 1, 120, 8, 1, 2, "none", 50},
        Crowd{"FlaskHundred", kFlask, 200, 2, 120, 8, 4, 4, "dlcbf", 50},
        Crowd{"TokenBHundred", kTokenB, 100, 1, 120, 2, 1, 0.5, "none", 50},
        Crowd{"FlaskSixtyFour", kFlask, 64, 1, 60, 8, 4, 4, "dlcbf", 50}),
    [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace rubato::chip
