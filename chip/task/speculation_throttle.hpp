// The distance that MAYSPEC tasks of a tile may speculate ahead. It is learned from the fates of earlier
// attempts, for each task function and, where that is worth an entry, for each of its locales. Not in
// Espresso, whose MAYSPEC tasks are always speculatively runnable (Sec. V-B).
//
// If tasks meet on a hot line, the attempts that are farthest ahead are aborted most, and each of them takes
// the line away from those that precede it. So an entry limits the reach: the distance of a task's timestamp
// from the GVT's up to which it may speculate. All tiles know both, so the limits of tiles that never talk to
// each other let the same tasks run: the earliest of the chip.
//
// No task waits for ever. A throttle decides only about tasks whose timestamp is later than the GVT's. Every
// task comes to have the GVT's timestamp when those before it have ended, and these end without the
// throttle's consent. Nor does a limit last: every commit raises it, also that of a task that ran
// non-speculatively under it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "chip/config/config.hpp"
#include "chip/vocabulary/task.hpp"

namespace rubato::chip {

/// Contract: deterministic; admits() changes nothing; no allocation in steady state. Distances are of
/// timestamps, from the GVT's as the tile knows it.
class SpeculationThrottle {
 public:
  virtual ~SpeculationThrottle() = default;
  /// May a MAYSPEC task speculate that is so far ahead?
  virtual bool admits(const TaskDescriptor& task, Timestamp distance) const = 0;
  /// An attempt of it met another task in memory, or had used data of one that did.
  virtual void aborted(const TaskDescriptor& task, Timestamp distance) = 0;
  /// The task committed, speculative or not.
  virtual void committed(const TaskDescriptor& task) = 0;
};

/// A direct-mapped, tagged table. The entry of a task's function and locale decides and learns, else that of
/// its function, else nothing is limited. Aborts make entries: the first one of a function, and for a locale
/// the first one that its function's entry had to answer for.
class ReachThrottle final : public SpeculationThrottle {
 public:
  /// Limits go in half octaves: 0, 1, 2, 3, 4, 6, 8, ... and none.
  static constexpr std::uint32_t kUnlimited = 128;
  /// An abort adds one, a commit takes two: so many more aborts, or commits, lower or raise the limit. If
  /// fewer than two attempts are aborted for each commit, nothing is limited.
  static constexpr std::int32_t kCommitWeight = 2, kLowersAt = 16, kRaisesAt = -4;

  explicit ReachThrottle(std::uint32_t entries) : entries_(entries), mask_(entries - 1) {}
  bool admits(const TaskDescriptor& task, Timestamp distance) const override;
  void aborted(const TaskDescriptor& task, Timestamp distance) override;
  void committed(const TaskDescriptor& task) override;

 private:
  struct Entry {
    std::uint64_t tag = 0;
    std::uint32_t level = kUnlimited;
    std::int32_t balance = 0;
  };
  static std::uint64_t tag_of_function(const TaskDescriptor& task);
  static std::uint64_t tag_of_locale(const TaskDescriptor& task);
  static Timestamp reach(const Entry& entry);
  const Entry* find(std::uint64_t tag) const;
  const Entry* find(const TaskDescriptor& task) const;
  /// Places are of the bits above a tag's lowest. A division would take longer than all else here.
  std::size_t index(std::uint64_t tag) const {
    return (entries_.size() & mask_) == 0 ? tag >> 1 & mask_ : (tag >> 1) % entries_.size();
  }
  Entry& place(std::uint64_t tag) { return entries_[index(tag)]; }

  bool is_used_ = false;  ///< until the first abort nothing is looked up
  std::vector<Entry> entries_;
  std::size_t mask_;  ///< of indices, if the number of entries is a power of two
};

/// As task.throttle says; null: nothing is throttled.
std::unique_ptr<SpeculationThrottle> make_speculation_throttle(const Config& config);

}  // namespace rubato::chip
