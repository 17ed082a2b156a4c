// Starvation freedom (K94): all tiles write, swap, reserve and read one line, on directories of one entry and
// a network that delays any message; each access is served within the turns of all others, and every lr and
// sc comes to an end.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "chip/coherence/token/token_broadcast.hpp"
#include "chip/noc/mesh.hpp"
#include "tests/chip/coherence/rig.hpp"
#include "tests/chip/coherence/token/late_network.hpp"

namespace rubato::chip {
namespace {

constexpr LineAddr kContended{4096};

struct Contest {
  const char* name;
  const char* protocol;
  std::uint32_t cores;
  std::uint64_t jitter;
};

/// Each core makes `turns` of one kind after the other: a store, an atomic, a pair of lr and sc, a load.
class Contenders final : public EventHandler, public AccessClient {
 public:
  enum Turn : unsigned { kStore, kAtomic, kPair, kLoad };

  Contenders(const Contest& contest, std::uint64_t turns, bool only_pairs)
      : config_(resolve(config_of(contest))),
        mesh_(make_mesh(config_)),
        network_(*mesh_, contest.jitter, 7),
        memory_(make_memory_system(config_, network_, none_, &timeline_, this)),
        only_pairs_(only_pairs),
        cores_(contest.cores, Core{.left = turns}) {
    dynamic_cast<TokenTiles&>(*memory_).on_violation([](const std::string& what) { throw Violation(what); });
    for (std::uint32_t c = 0; c < contest.cores; ++c) timeline_.schedule(Cycle{c}, this, 0, c);
  }

  void run(std::uint64_t most_events) {
    for (std::uint64_t n = 0; timeline_.step(); ++n) ASSERT_LT(n, most_events) << "no end";
    for (const Core& core : cores_) EXPECT_EQ(core.left, 0U);
    EXPECT_EQ(memory_->check_invariants(), "");
  }
  std::uint64_t longest() const {
    std::uint64_t most = 0;
    for (const Core& core : cores_) most = std::max(most, core.longest);
    return most;
  }
  /// The shortest and the longest mean wait of a core.
  std::pair<double, double> means() const {
    const auto [low, high] = std::minmax_element(
        cores_.begin(), cores_.end(), [](const Core& a, const Core& b) { return a.mean() < b.mean(); });
    return {low->mean(), high->mean()};
  }

 private:
  struct Core {
    std::uint64_t left;
    bool has_reserved = false;  // of a pair, the sc is left
    bool is_waiting = false;
    Cycle since{};
    std::uint64_t longest = 0, waited = 0, accesses = 0;
    double mean() const { return static_cast<double>(waited) / static_cast<double>(accesses); }
  };

  static Config config_of(const Contest& contest) {
    Config c = tiny_caches(contest.cores, 1);
    c.coherence.protocol = contest.protocol;
    c.coherence.ways = 2;
    c.coherence.directory_ways = 1;
    c.coherence.capacity = 0.5;
    return c;
  }
  void on_access_ready(CoreId core, LineAddr, Cycle now) override {
    if (cores_[core.value].is_waiting) timeline_.schedule(now, this, 0, core.value);
  }
  void on_event(Cycle now, std::uint32_t, std::uint64_t number) override {
    Core& core = cores_[number];
    if (core.left == 0) return;
    const auto turn = only_pairs_ ? kPair : static_cast<Turn>((core.left + number) % 4);
    L1Cache& l1 = memory_->l1d(CoreId{static_cast<std::uint32_t>(number)});
    const bool is_sc = turn == kPair && core.has_reserved;
    if (!core.is_waiting) core.since = now;
    if (is_sc && !l1.has_reservation(kContended)) {  // it fails; from the beginning
      core.has_reserved = core.is_waiting = false;
      return timeline_.schedule(now + 1, this, 0, number);
    }
    constexpr AccessKind kinds[] = {AccessKind::store, AccessKind::atomic, AccessKind::reserve,
                                    AccessKind::load};
    const AccessKind kind = is_sc ? AccessKind::atomic : kinds[turn];
    AccessResult result{.cycle = now + 1};
    if (!l1.hit(kContended, is_write(kind)))
      result = memory_->access(CoreId{static_cast<std::uint32_t>(number)}, kContended, kind, now);
    core.is_waiting = !result.done;
    if (!result.done) return;
    core.longest = std::max(core.longest, now - core.since);
    core.waited += now - core.since;
    ++core.accesses;
    if (turn == kPair && !is_sc) {
      l1.reserve(kContended);
      core.has_reserved = true;
    } else {
      if (!is_sc || l1.has_reservation(kContended)) --core.left;
      core.has_reserved = false;
      l1.clear_reservation();
    }
    timeline_.schedule(result.cycle + (turn == kPair ? 8 : 40), this, 0, number);  // else most would be hits
  }

  Config config_;
  NoConflictCheck none_;
  Timeline timeline_;
  std::unique_ptr<Mesh> mesh_;
  LateNetwork network_;
  std::unique_ptr<MemoryHierarchy> memory_;
  bool only_pairs_;
  std::vector<Core> cores_;
};

/// `make test-long` asks for more.
std::uint64_t turns(std::uint64_t of_a_test) {
  const char* const asked = std::getenv("RUBATO_CONTENDED_TURNS");
  return asked != nullptr ? std::stoull(asked) : of_a_test;
}

class Starvation : public testing::TestWithParam<Contest> {
 protected:
  /// Longest transaction, in cycles: messages there and back again and to a third, memory, and the hold of a
  /// reserved line. Under tokenb: an activation, with its acknowledgements, and its end with those.
  static std::uint64_t longest_transaction() {
    const Contest& c = GetParam();
    const bool is_broadcast = std::string(c.protocol) == "tokenb";
    return (is_broadcast ? 8 : 6) * (c.jitter + 60) + 240 + 64;
  }
};

TEST_P(Starvation, EachAccessIsServedWithinTheTurnsOfAllOthers) {
  const Contest& c = GetParam();
  Contenders contenders(c, turns(200), false);
  ASSERT_NO_THROW(contenders.run(turns(200) * 100'000));
  std::uint64_t bound = (c.cores + 2) * longest_transaction();
  if (std::string(c.protocol) == "tokenb")  // a request and its retry, of twice and once the mean, come first
    bound += (2 + 1) * 3 * longest_transaction();
  EXPECT_LT(contenders.longest(), bound);
  const auto [low, high] = contenders.means();
  RecordProperty("longest", std::to_string(contenders.longest()));
  RecordProperty("bound", std::to_string(bound));
  RecordProperty("mean_low", std::to_string(low));
  RecordProperty("mean_high", std::to_string(high));
}

TEST_P(Starvation, EveryPairOfLrAndScComesToAnEnd) {
  Contenders contenders(GetParam(), turns(50), true);
  ASSERT_NO_THROW(contenders.run(turns(50) * 100'000));
}

INSTANTIATE_TEST_SUITE_P(
    Tokens, Starvation,
    testing::Values(Contest{"Sparse", "sparse", 16, 0}, Contest{"SparseLate", "sparse", 16, 300},
                    Contest{"Mosaic", "mosaic", 16, 0}, Contest{"MosaicLate", "mosaic", 16, 300},
                    Contest{"Flask", "flask", 16, 0}, Contest{"FlaskLate", "flask", 16, 300},
                    Contest{"TokenB", "tokenb", 16, 0}, Contest{"TokenBLate", "tokenb", 16, 300},
                    Contest{"TokenBMany", "tokenb", 64, 30}),
    [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace rubato::chip
