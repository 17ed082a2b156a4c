// The chip's clock: a ring of one bucket a cycle for the near future, a heap for the rest. Cores and messages
// alike are entries; entries of one cycle run in the order in which they were scheduled, which makes a run a
// function of its inputs.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "base/check.hpp"
#include "chip/types.hpp"

namespace rubato::chip {

/// Receives what it scheduled. `kind` and `payload` are the scheduler's own business.
class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual void on_event(Cycle now, std::uint32_t kind, std::uint64_t payload) = 0;
};

class Timeline {
 public:
  Timeline() : ring_(kRing) {}

  /// The cycle of the entry being run: the earliest of all pending ones.
  Cycle now() const { return now_; }

  /// Calls handler->on_event(at, kind, payload) when the clock reaches `at`. Invariant: at >= now().
  void schedule(Cycle at, EventHandler* handler, std::uint32_t kind = 0, std::uint64_t payload = 0) {
    RUBATO_DCHECK(at >= now_, "scheduled in the past");
    if (at < now_ + kRing) {
      auto& bucket = ring_[at.value % kRing];
      bucket.push_back(Entry{handler, payload, kind});
      occupied_[(at.value % kRing) / 64] |= std::uint64_t{1} << (at.value % 64);
      ++near_;
    } else {
      far_.push(FarEntry{at, sequence_++, Entry{handler, payload, kind}});
    }
  }

  /// Cycle of the next pending entry, or kNever. While an entry runs, others of the same cycle count.
  Cycle next() const;

  /// Runs the next entry; false if none is pending.
  bool step();

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
  Cycle next_near() const;
  void admit_far(Cycle up_to);

  std::vector<std::vector<Entry>> ring_;
  std::uint64_t occupied_[kRing / 64] = {};
  std::priority_queue<FarEntry> far_;
  std::uint64_t sequence_ = 0;
  std::uint64_t near_ = 0;
  std::size_t cursor_ = 0;  // next entry of the current bucket
  Cycle now_{};
};

}  // namespace rubato::chip
