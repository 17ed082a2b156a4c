// Verdicts: the reports of a token protocol to conflict detection about accesses that it has the right for
// (K60).
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "chip/coherence/token/token_protocol.hpp"
#include "chip/noc/mesh.hpp"
#include "chip/vocabulary/virtual_time.hpp"
#include "tests/chip/coherence/rig.hpp"

namespace rubato::chip {
namespace {

constexpr VirtualTime kCanary{.timestamp = 5};

/// Passes every access, with a canary that covers readers, until told to block the next one at its home.
class Verdicts final : public ConflictCheck {
 public:
  Verdicts() { active_ = true; }
  void check_tile(CoreId, LineAddr, AccessKind, VirtualTime canary, Cycle, CheckResult& result) override {
    canaries.push_back(canary);
    result = {.needs_global = canary == kMaxVirtualTime};
  }
  void check_global(CoreId, LineAddr, AccessKind, std::uint64_t, bool, TileId, Cycle,
                    CheckResult& result) override {
    ++global_checks;
    result = {.blocked = std::exchange(blocks, false), .exclusive = false, .canary = kCanary};
  }
  void on_lose(TileId, LineAddr, bool) override {}
  void on_llc_evict(LineAddr) override {}

  std::vector<VirtualTime> canaries;  // those that tile checks were asked with
  unsigned global_checks = 0;
  bool blocks = false;
};

class TokenVerdicts : public testing::Test, protected AccessClient {
 protected:
  TokenVerdicts()
      : config_(resolve(two_tiles())),
        mesh_(make_mesh(config_)),
        protocol_(config_, TokenPolicy::flask, {*mesh_, verdicts_, timeline_, *this}) {}

  static Config two_tiles() {
    Config config = tiny_caches(2, 1);
    config.coherence.capacity = 4;
    return config;
  }
  void on_access_ready(CoreId core, LineAddr, Cycle now) override { ready_[core.value] = now; }
  bool ask(std::uint32_t core, AccessKind kind) {
    return protocol_.access(CoreId{core}, kLine, kind, timeline_.now()).done;
  }
  /// As a core that uses what came at once.
  bool use(std::uint32_t core, AccessKind kind) {
    ready_[core].reset();
    if (ask(core, kind)) return true;
    while (!ready_[core] && timeline_.step()) {
    }
    return ready_[core] && ask(core, kind);
  }
  void finish() {
    while (timeline_.step()) {
    }
  }

  static constexpr LineAddr kLine{4096};
  Config config_;
  Verdicts verdicts_;
  Timeline timeline_;
  std::unique_ptr<Mesh> mesh_;
  TokenProtocol protocol_;
  std::optional<Cycle> ready_[2];
};

// Canary of a shared copy: it covers reads only. A store may get all tokens and then be blocked or given up.
// It must not leave the canary behind: the next store would ask no other tile's readers.
TEST_F(TokenVerdicts, NoCanaryCoversARightThatWasNotChecked) {
  ASSERT_TRUE(use(0, AccessKind::load));
  finish();
  ASSERT_TRUE(use(1, AccessKind::load));
  finish();
  verdicts_.blocks = true;
  EXPECT_FALSE(use(0, AccessKind::store)) << "blocked by its verdict";
  finish();
  verdicts_.canaries.clear();
  const unsigned before = verdicts_.global_checks;
  EXPECT_TRUE(ask(0, AccessKind::store));
  EXPECT_TRUE(verdicts_.canaries == std::vector<VirtualTime>{kMaxVirtualTime});
  EXPECT_EQ(verdicts_.global_checks, before + 1);
}

TEST_F(TokenVerdicts, NoCanaryCoversARightThatNobodyUsed) {
  ASSERT_TRUE(use(0, AccessKind::load));
  finish();
  ASSERT_TRUE(use(1, AccessKind::load));
  finish();
  EXPECT_FALSE(ask(0, AccessKind::store));  // and its core goes away
  finish();
  verdicts_.canaries.clear();
  EXPECT_TRUE(ask(0, AccessKind::store));
  EXPECT_TRUE(verdicts_.canaries == std::vector<VirtualTime>{kMaxVirtualTime});
}

}  // namespace
}  // namespace rubato::chip
