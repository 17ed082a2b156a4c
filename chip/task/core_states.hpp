// States of a tile's cores, by slot, as its task unit knows them: the state of each core, and a mask of the
// cores in each state. A search for an idle core, or for one that will ask, needs the masks only.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

#include "chip/task/task_queue.hpp"

namespace rubato::chip {

enum class CoreState : std::uint8_t {
  busy,          ///< between tasks: has not asked for work yet
  idle,          ///< asked, there was none
  waking,        ///< told to ask again
  rolling_back,  ///< until the stores of the attempt that ran here are restored
  running,       ///< a guest task, as in the next two
  stalled,       ///< its create waits for room
  finishing,     ///< its finish waits for a commit-queue entry
  internal,      ///< a spill or refill
  doomed,        ///< its task was aborted in a capsule, which goes on (P36)
};
inline constexpr std::size_t kCoreStates = 9;

/// Invariant: the bit of a slot is set in the mask of its state and in no other.
class CoreStates {
 public:
  explicit CoreStates(std::uint32_t cores) : cores_(cores) { reset(); }

  /// Every core is busy.
  void reset() {
    states_.fill(CoreState::busy);
    in_.fill(0);
    in_[0] = (1U << cores_) - 1;
  }
  CoreState operator[](std::uint32_t slot) const { return states_[slot]; }
  void set(std::uint32_t slot, CoreState state) {
    const std::uint32_t bit = 1U << slot;
    in_[index(states_[slot])] &= ~bit;
    in_[index(state)] |= bit;
    states_[slot] = state;
  }
  std::uint32_t in(CoreState state) const { return in_[index(state)]; }
  /// Cores that have no task, or soon have none: they ask for work by themselves.
  std::uint32_t asking() const {
    return in(CoreState::busy) | in(CoreState::idle) | in(CoreState::waking) | in(CoreState::rolling_back);
  }

 private:
  static std::size_t index(CoreState state) { return static_cast<std::size_t>(state); }

  std::uint32_t cores_;
  std::array<CoreState, kMaxCoresPerTile> states_;
  std::array<std::uint32_t, kCoreStates> in_;
};

}  // namespace rubato::chip
