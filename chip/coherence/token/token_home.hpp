// A home of the token protocols: its LLC slice, directory and filter, and the state and queue of each line
// that it knows anything of.
//
//   places    the arrays say where a line has its place and what it displaces; its state is in `lines`
//   stalled   lines whose next request waits for a place in the directory, or for a filter's counter
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <vector>

#include "chip/coherence/directory/moving_split.hpp"
#include "chip/coherence/filter/filter_profile.hpp"
#include "chip/coherence/filter/line_filter.hpp"
#include "chip/coherence/llc_slice.hpp"
#include "chip/coherence/token/flights.hpp"
#include "chip/coherence/token/framed_array.hpp"
#include "chip/coherence/token/home_rules.hpp"
#include "chip/coherence/token/line_records.hpp"

namespace rubato::chip {

struct HomeRecord {
  static constexpr std::uint32_t kNoSlot = FramedArray<TokenPlace>::kNoSlot;
  HomeLine line{};
  std::uint32_t llc_slot = kNoSlot, entry_slot = kNoSlot;             ///< its places
  std::uint32_t first = FlightPool::kNone, last = FlightPool::kNone;  ///< requests that wait, in order
  bool is_flushed = false;                                            ///< its recall is part of a flush
};

struct DirectoryCounters {
  std::uint64_t hits = 0, misses = 0, evictions = 0, probes = 0, rebuilt = 0, false_positives = 0,
                filtered = 0, flushes = 0, incomplete = 0;
  DirectoryRows rows;
  std::uint64_t most_open = 0;  ///< transactions at a time, each of which has a buffer (K21)
};

struct TokenHome {
  TokenHome(const Config& config, std::uint64_t directory_entries, std::uint32_t directory_assoc,
            std::pmr::memory_resource* memory, std::pmr::memory_resource* directory_memory)
      : frame(config),
        llc(frame, config.llc.size, config.llc.ways, memory),
        directory(frame, directory_entries * kLineBytes, directory_assoc, directory_memory) {}
  HomeRecord* find(LineAddr line) const { return lines.find(line); }
  bool is_busy(LineAddr line) {
    const HomeRecord* const record = find(line);
    return record != nullptr && record->line.phase != HomeLine::Phase::idle;
  }
  std::uint64_t entries_in_use() const {
    std::uint64_t count = 0;
    for (std::uint32_t slot = 0; slot < directory.slots(); ++slot) count += directory.is_empty(slot) ? 0 : 1;
    return count;
  }
  /// A place for `line` in `array`: empty, or the least recently used of those whose lines are in no
  /// transaction; kNoSlot: there is none.
  std::uint32_t place_in(FramedArray<TokenPlace>& array, LineAddr line) {
    for (std::uint32_t tries = 0; tries < array.ways(); ++tries) {
      const std::uint32_t slot = array.victim(line);
      if (array.is_empty(slot) || !is_busy(array.line_at(slot))) return slot;
      array.use(slot);
    }
    return FramedArray<TokenPlace>::kNoSlot;
  }

  // The filter, where there is one. A line whose counter is full when its tokens leave, because others of its
  // hash went out while it was asked for, is remembered beside it: no counter wraps (K53).
  bool may_hold(LineAddr line) { return !uncounted.empty() || filter->may_hold(frame.of(line)); }
  bool is_saturated(LineAddr line) const { return filter->is_saturated(frame.of(line)); }
  void insert(LineAddr line) {
    if (filter == nullptr) return;
    if (profile != nullptr) profile->insert(frame.of(line));
    if (is_saturated(line)) {
      uncounted.push_back(line);
    } else {
      filter->insert(frame.of(line));
    }
    ++lines_out;
  }
  void erase(LineAddr line) {
    if (filter == nullptr) return;
    --lines_out;
    if (profile != nullptr) profile->erase(frame.of(line));
    if (std::erase(uncounted, line) == 0) filter->erase(frame.of(line));
  }

  LineFrame frame;
  FramedArray<TokenPlace> llc, directory;
  std::unique_ptr<LineFilter> filter;      // of flask
  std::unique_ptr<FilterProfile> profile;  // of the filter, with coherence.profile
  std::unique_ptr<MovingSplit> split;      // if it moves
  LineRecords<HomeRecord> lines;
  std::vector<LineAddr> uncounted;  // out, but not in the filter
  std::vector<LineAddr> stalled;
  std::vector<LineAddr> ready;  // whose transaction has closed, or that were stalled and may try again
  LlcCounters counters;
  DirectoryCounters entries;
  std::uint64_t lines_out = 0;  // that the filter counts
  std::uint64_t open = 0;       // lines in transactions
  std::uint64_t flushing = 0;   // of them, those that a flush recalls
};

}  // namespace rubato::chip
