// Places in a tile's commit queue. Espresso, Sec. V-A; C17. An attempt that precedes one in a full commit
// queue takes the place of the latest one. Attempts whose fate the arbiter is deciding keep their places.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "chip/task/tile_state.hpp"

namespace rubato::chip {

class CommitRoom {
 public:
  explicit CommitRoom(TileState& state) : state_(state) {}
  void begin_region() { started_ = {}; }

  bool has_place_for(const Attempt& attempt) const {
    return !state_.commit_queue.full() || displaced_by(attempt) != nullptr;
  }
  /// Aborts the latest attempt for `attempt` if that is necessary and possible. False: there is no place.
  bool make_room(const Attempt& attempt, Cycle now);
  /// Wakes the cores whose finishes may now find a place.
  void wake_finishing(Cycle now);

  /// A timestamped task starts non-speculatively.
  void count_start(Timestamp timestamp) {
    if (started_.timestamp != timestamp) started_ = {timestamp};
    ++started_.tasks;
  }
  /// As many tasks of the GVT's timestamp have started as the commit queue holds attempts.
  bool has_started_many() const {
    const std::uint32_t capacity = state_.commit_queue.capacity();
    return capacity != 0 && started_.timestamp == state_.gvt().timestamp && started_.tasks >= capacity;
  }
  /// See TileView::hold_from; where tasks of the tile are in memory.
  /// @param has_earliest  some of them are of the GVT's timestamp; of no interest unless has_started_many()
  std::optional<Timestamp> hold_from(bool has_earliest) const;

 private:
  struct Started {
    Timestamp timestamp = kMaxVirtualTime.timestamp;
    std::uint32_t tasks = 0;
  };
  /// The place of the latest attempt that may be aborted, or the queue's size. Reads attempts only while a
  /// GVT is being decided on.
  std::size_t latest_index() const;
  /// Null: it precedes none.
  Attempt* displaced_by(const Attempt& attempt) const;
  Attempt* latest() const;
  /// On the tile's cores.
  std::uint32_t running_attempts() const;

  TileState& state_;
  Started started_;  // non-speculatively, of the last such timestamp
};

}  // namespace rubato::chip
