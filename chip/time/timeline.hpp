// The chip's clock: a ring of one bucket a cycle for the near future, a heap for the rest. Cores and messages
// alike are entries; entries of one cycle run in the order in which they were scheduled, which makes a run a
// function of its inputs. Buckets are lists through one pool of nodes, those freed last used first: all that
// is pending stays in the host's nearest cache.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

#include "base/check.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// Receives what it scheduled. `kind` and `payload` are the scheduler's own business.
class EventHandler {
 public:
  /// Bytes of every handler that are fetched ahead of its event: it is worth keeping there what an event
  /// reads.
  static constexpr std::size_t kFirstUsed = 512;
  virtual ~EventHandler() = default;
  virtual void on_event(Cycle now, std::uint32_t kind, std::uint64_t payload) = 0;
};

class Timeline {
 public:
  Timeline() {
    ring_.fill(Bucket{});
    grow();
  }

  /// The cycle of the entry being run: the earliest of all pending ones.
  Cycle now() const { return now_; }

  /// Calls handler->on_event(at, kind, payload) when the clock reaches `at`. Invariant: at >= now().
  void schedule(Cycle at, EventHandler* handler, std::uint32_t kind = 0, std::uint64_t payload = 0);

  /// Cycle of the next pending entry, or kNever. While an entry runs, others of the same cycle count.
  Cycle next() const {
    // Mostly there is one soon, in this word of the bitmap, and whether it is due now decides no branch.
    const std::uint64_t start = now_.value % kRing;
    if (const std::uint64_t word = occupied_[start / 64] >> start % 64; word != 0)
      return now_ + static_cast<std::uint64_t>(std::countr_zero(word));
    return next_later();
  }

  /// Runs the next entry; false if none is pending before pause().
  bool step();

  /// The cycle before which the simulation pauses, so that its state can be read. It is not an entry: the
  /// distance that cores may run ahead of each other must not depend on it.
  Cycle pause() const { return pause_; }
  void pause_at(Cycle at) { pause_ = at; }

  bool empty() const { return near_ == 0 && far_.empty(); }
  /// Entries that have not run yet.
  std::uint64_t pending() const { return near_ + far_.size(); }

 private:
  static constexpr std::uint64_t kRing = 1024;  // covers every latency but spills and time slices
  struct Entry {
    EventHandler* handler;
    std::uint64_t payload;
    std::uint32_t kind;
  };
  struct FarEntry {
    Cycle at;
    std::uint64_t sequence;
    Entry entry;
    bool operator<(const FarEntry& o) const {  // std::priority_queue is a max-heap
      return at != o.at ? at > o.at : sequence > o.sequence;
    }
  };
  /// Singly linked: an entry and the node behind it in its bucket, or in the free list.
  struct Node {
    Entry entry;
    std::uint32_t next;
  };
  static constexpr std::uint32_t kNone = ~0U;
  /// The node that is in no list: the last one of an empty bucket, for a push to link to without a branch.
  static constexpr std::uint32_t kNobody = 0;
  struct Bucket {
    std::uint32_t first = kNone, last = kNobody;
  };

  void push(std::uint64_t slot, const Entry& entry);
  void grow();
  void schedule_far(Cycle at, const Entry& entry);
  /// next(), where the rest of the bitmap's word is empty.
  Cycle next_later() const;
  Cycle next_near() const;
  void admit_far(Cycle up_to);

  std::array<Bucket, kRing> ring_;
  std::vector<Node> nodes_{1};
  std::uint32_t free_ = kNone;  // the first of them; there is always one
  std::uint64_t occupied_[kRing / 64] = {};
  std::priority_queue<FarEntry> far_;
  std::uint64_t sequence_ = 0;
  std::uint64_t near_ = 0;
  Cycle now_{}, pause_ = kNever;
};

}  // namespace rubato::chip
