// The tile's send buffer: tasks created here for other tiles, held until the destination's task unit
// acknowledges them. Their timestamps count in the tile's minimum until then, so no GVT round misses a task
// that is in a message (C16). Espresso, Fig. 6. An acknowledgement that no create waits for is no event: its
// entry is freed at the next look at the buffer.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.hpp"
#include "chip/task/task_record.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class SendBuffer {
 public:
  struct Entry {
    Task* task = nullptr;  ///< not ours to read once `to` has accepted it
    TileId to{};
    bool in_use = false;
    bool has_timestamp = false;
    Timestamp timestamp = 0;
  };

  /// @param capacity entries; 0: unlimited.
  explicit SendBuffer(std::uint32_t capacity) : capacity_(capacity) {}

  /// Room for one more if `reserved` entries must stay free; at least one entry of a tiny buffer is open to
  /// all.
  bool has_room(std::uint32_t reserved, Cycle now) {
    if (capacity_ == 0) return true;
    const std::uint32_t limit = capacity_ > reserved ? capacity_ - reserved : 1;
    if (used_ + promised_ >= limit) settle(now);
    return used_ + promised_ < limit;
  }
  /// Keeps an entry for a core that waited for one and was woken.
  void promise() { ++promised_; }
  void redeem() { --promised_; }

  /// @returns the entry's slot.
  std::uint32_t add(Task* task, TileId to) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(entries_.size()));
      entries_.emplace_back();
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    entries_[slot] = {task, to, true, task->descriptor.has_timestamp, task->descriptor.timestamp};
    ++used_;
    RUBATO_CHECK(capacity_ == 0 || used_ + promised_ <= capacity_, "a send buffer holds more than it has");
    return slot;
  }
  Entry& entry(std::uint32_t slot) { return entries_[slot]; }
  void remove(std::uint32_t slot) {
    RUBATO_CHECK(entries_[slot].in_use, "an entry of the send buffer was freed twice");
    entries_[slot].in_use = false;
    free_.push_back(slot);
    --used_;
  }
  /// remove(), as of `at`. It counts until settle().
  void remove_at(std::uint32_t slot, Cycle at) {
    leaving_.push_back({at, slot});
    first_leaves_ = earlier(first_leaves_, at);
  }
  /// Removes the entries that leave by `now`.
  void settle(Cycle now) {
    if (now < first_leaves_) return;
    first_leaves_ = kNever;
    std::erase_if(leaving_, [&](const Leaving& leaving) {
      if (leaving.at <= now) {
        remove(leaving.slot);
        return true;
      }
      first_leaves_ = earlier(first_leaves_, leaving.at);
      return false;
    });
  }
  /// Calls tell(cycle, slot) for each entry that remove_at() has announced and that is still here; the entry
  /// is left to `tell`.
  template <class Tell>
  void take_leaving(Tell tell) {
    for (const Leaving& leaving : leaving_) tell(leaving.at, leaving.slot);
    leaving_.clear();
    first_leaves_ = kNever;
  }

  std::uint32_t used() const { return used_; }
  std::uint32_t capacity() const { return capacity_; }

  /// The lowest timestamp held; false if none is.
  bool earliest(Timestamp& timestamp) const {
    bool found = false;
    std::uint32_t left = used_;
    for (const Entry& e : entries_) {
      if (left == 0) break;
      if (!e.in_use) continue;
      --left;
      if (!e.has_timestamp || (found && e.timestamp >= timestamp)) continue;
      timestamp = e.timestamp;
      found = true;
    }
    return found;
  }

 private:
  struct Leaving {
    Cycle at;
    std::uint32_t slot;
  };

  std::uint32_t capacity_;
  std::uint32_t used_ = 0, promised_ = 0;
  Cycle first_leaves_ = kNever;
  std::vector<Leaving> leaving_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
};

}  // namespace rubato::chip
