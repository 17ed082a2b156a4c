// Branch prediction: gshare for conditional branches (McFarling, 1993), a direct-mapped
// target buffer for indirect jumps, a return-address stack. Direct targets are known at decode and need none.
// A wrong prediction costs core.mispredict cycles; a right one nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/line_allocator.hpp"
#include "chip/config/config.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class BranchPredictor {
 public:
  explicit BranchPredictor(const CoreSection& config)
      : counters_(std::max(1U, config.predictor_entries / kCountersPerWord), kAllWeaklyTaken),
        mask_(config.predictor_entries - 1),
        targets_(config.btb_entries),
        returns_(config.ras_entries) {}

  /// Predicts and learns in one step. @returns true if the prediction was right.
  bool branch(Addr pc, bool taken) {
    const std::uint64_t index = ((pc >> 1) ^ history_) & mask_;
    std::uint64_t& word = counters_[index / kCountersPerWord];
    const std::uint64_t bit = index % kCountersPerWord * 2;
    const std::uint64_t counter = word >> bit & 3;
    const bool predicted = counter >= kWeaklyTaken;
    // Branch-free: a branch that the predictor mispredicts is unpredictable on the host too.
    const std::uint64_t up = taken & (counter < kStronglyTaken), down = !taken & (counter > 0);
    const std::uint64_t next = counter + up - down;
    word ^= (counter ^ next) << bit;
    history_ = (history_ << 1 | std::uint64_t{taken}) & kHistoryMask;
    return predicted == taken;
  }

  /// An indirect jump that is not a return.
  bool jump(Addr pc, Addr target) {
    Addr& entry = targets_[(pc >> 1) & (targets_.size() - 1)];
    const bool right = entry == target;
    entry = target;
    return right;
  }

  void call(Addr return_address) {
    top_ = top_ + 1 == returns_.size() ? 0 : top_ + 1;  // no division, which takes the host long
    returns_[top_] = return_address;
  }

  bool ret(Addr target) {
    const bool right = returns_[top_] == target;
    top_ = (top_ == 0 ? returns_.size() : top_) - 1;
    return right;
  }

  /// The predictor's speculative state, saved and restored with the point of execution. Learned counters are
  /// not part of it.
  struct Path {
    std::uint64_t history = 0;
    std::size_t top = 0;
  };
  Path path() const { return {history_, top_}; }
  /// Execution goes on from there again.
  void set_path(const Path& path) { history_ = path.history, top_ = path.top; }

 private:
  static constexpr std::uint64_t kWeaklyTaken = 2, kStronglyTaken = 3, kAllWeaklyTaken = 0xaaaaaaaaaaaaaaaa;
  static constexpr std::uint32_t kCountersPerWord = 32;
  static constexpr std::uint64_t kHistoryMask = 0xff;
  // Two bits each: what one branch may use, which is as many as there are histories, is one host cache line.
  std::vector<std::uint64_t, LineAllocator<std::uint64_t>> counters_;
  std::uint64_t mask_;         // a power of two of counters, less 1
  std::vector<Addr> targets_;  // power of two
  std::vector<Addr> returns_;
  std::uint64_t history_ = 0;
  std::size_t top_ = 0;
};

}  // namespace rubato::chip
