// Random attempts that allocate, free, commit and abort, against a model that knows the owner of every block.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/rng.hpp"
#include "chip/alloc/ideal_allocator.hpp"

namespace rubato::chip {
namespace {

using FreeOutcome = IdealAllocator::FreeOutcome;

struct Model final : Aborter {
  explicit Model(std::uint64_t seed) : rng(seed) { allocator.attach(*this); }

  struct Block {
    Attempt* owner;               ///< null: its allocation is permanent
    Attempt* freed_by = nullptr;  ///< uncommitted
  };

  // Aborter
  void abort(std::span<Attempt* const> victims, const AbortReason&, Cycle) override {
    std::vector<Attempt*> all(victims.begin(), victims.end());
    // An attempt that freed a victim's block had the pointer from the victim.
    for (std::size_t i = 0; i < all.size(); ++i)
      for (const auto& [a, block] : blocks)
        if (block.owner == all[i] && block.freed_by != nullptr &&
            std::find(all.begin(), all.end(), block.freed_by) == all.end())
          all.push_back(block.freed_by);
    std::shuffle(all.begin(), all.end(), rng);
    for (Attempt* victim : all) {
      allocator.on_abort(*victim);
      for (auto& [a, block] : blocks)
        if (block.freed_by == victim) block.freed_by = nullptr;
      std::erase_if(attempts, [&](const auto& attempt) { return attempt.get() == victim; });
    }
    for (Attempt* victim : all)
      std::erase_if(blocks, [&](const auto& entry) { return entry.second.owner == victim; });
    aborts += all.size();
  }
  bool is_fate_pending(const Attempt&) const override { return false; }
  bool is_decided(const Attempt&) const override { return false; }
  void wait_for_fate(CoreId) override {}
  VirtualTime gvt_at(TileId) const override { return {}; }

  IdealAllocator::Caller caller(Attempt* attempt) {
    return {CoreId{static_cast<std::uint32_t>(rng.below(2))}, static_cast<int>(rng.below(3)), attempt, {}};
  }
  void allocate(Attempt* attempt) {
    const auto who = caller(attempt);
    allocator.begin_call(who);
    const Addr a = allocator.allocate(who, 1 + rng.below(rng.below(8) == 0 ? 40000 : 200)).address;
    ASSERT_NE(a, 0u);
    ASSERT_FALSE(blocks.contains(a)) << "handed out twice";
    blocks[a] = {attempt};
  }
  void free(Attempt* attempt) {
    if (blocks.empty()) return;
    auto chosen = std::next(blocks.begin(), static_cast<std::ptrdiff_t>(rng.below(blocks.size())));
    const Addr a = chosen->first;
    Attempt* owner = chosen->second.owner;
    // Only the owner and later attempts, which may have read its stores, have pointers to the block.
    if (owner != nullptr && owner != attempt &&
        (attempt == nullptr || attempt->virtual_time < owner->virtual_time))
      return;
    const Attempt* by = chosen->second.freed_by;
    const bool is_second =
        by != nullptr && (by == attempt || (attempt != nullptr && by->virtual_time < attempt->virtual_time));
    const auto who = caller(attempt);
    allocator.begin_call(who);
    const auto outcome = rng.below(4) == 0 ? allocator.free_moved(who, a) : allocator.free(who, a);
    ASSERT_EQ(outcome, is_second ? FreeOutcome::freed_before : FreeOutcome::done);
    if (is_second) return;
    if (attempt == nullptr) {
      blocks.erase(a);
    } else {
      blocks.at(a).freed_by = attempt;
    }
  }
  void commit_earliest() {
    const auto first = std::min_element(attempts.begin(), attempts.end(), [](const auto& x, const auto& y) {
      return x->virtual_time < y->virtual_time;
    });
    Attempt* attempt = first->get();
    attempt->state = Attempt::State::finished;
    allocator.on_commit(*attempt);
    for (auto block = blocks.begin(); block != blocks.end();) {
      if (block->second.owner == attempt) block->second.owner = nullptr;
      block = block->second.freed_by == attempt ? blocks.erase(block) : std::next(block);
    }
    now = attempt->virtual_time.timestamp;
    attempts.erase(first);
  }
  void step() {
    const auto any = [&]() -> Attempt* {
      return attempts.empty() || rng.below(8) == 0 ? nullptr : attempts[rng.below(attempts.size())].get();
    };
    switch (rng.below(10)) {
      case 0:
        if (attempts.size() < 12) {
          attempts.push_back(std::make_unique<Attempt>());
          attempts.back()->virtual_time = {now + 1 + rng.below(50), ++ties};
        }
        return;
      case 1:
        if (!attempts.empty() && rng.below(3) == 0) commit_earliest();
        return;
      case 2:
        if (!attempts.empty() && rng.below(3) == 0) {
          Attempt* victim = attempts[rng.below(attempts.size())].get();
          abort({&victim, 1}, {}, {});
        }
        return;
      case 3:
      case 4:
      case 5:
      case 6:
        return allocate(any());
      default:
        return free(any());
    }
  }
  void check() {
    for (const auto& [a, block] : blocks) ASSERT_NE(allocator.usable(a), 0u);
  }

  Rng rng;
  AddressSpace memory;
  IdealAllocator allocator{memory, 2, Addr{1} << 36, Addr{1} << 37};
  std::map<Addr, Block> blocks;
  std::vector<std::unique_ptr<Attempt>> attempts;
  std::uint64_t now = 0, ties = 0, aborts = 0;
};

TEST(RandomAttempts, NoBlockHasTwoOwners) {
  std::uint64_t aborts = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Model model(seed);
    for (int i = 0; i < 2000; ++i) {
      model.step();
      if (i % 50 == 0) model.check();
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", step " << i;
    }
    aborts += model.aborts;
  }
  EXPECT_GT(aborts, 1000u);
}

}  // namespace
}  // namespace rubato::chip
