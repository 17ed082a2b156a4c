// Profile of shared lines (K84). It keeps an exact record for each line: the tiles that have touched the line
// since it went out, and the last writer. It counts private misses as they are performed, takes no cycles and
// changes nothing.
//
//   out       a tile holds the line, or it is on its way from one to another
//   shared    a miss of a line that another tile holds, or wrote last
//   active    a line that a second tile touched while it was out. A line that is out since before misses were
//             counted counts as out from its first counted miss, so active lines are a share of those out
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <unordered_map>

#include "chip/stats/registry.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class SharingProfile {
 public:
  /// `tile` uses what its private miss brought. `counts`: not while warming.
  void on_miss(TileId tile, LineAddr line, bool write, bool counts) {
    Line& l = lines_[line.value];
    const std::uint64_t bit = std::uint64_t{1} << tile.value;
    const bool is_new = l.touched == 0, is_others = l.writer != kNobody && l.writer != tile.value;
    const std::uint64_t one = counts ? 1 : 0;
    misses_ += one;
    if ((l.held & ~bit) != 0 || is_others || (!is_new && (l.touched & ~bit) != 0)) shared_ += one;
    const bool was_counted = l.is_counted, was_active = l.is_active;
    l.is_counted |= counts;
    l.is_active |= !is_new && (l.touched & ~bit) != 0;
    if (l.is_counted != was_counted) ++out_;
    if (counts && l.is_active && !(was_counted && was_active)) ++active_;
    if (write && is_others) migrations_ += one;
    l.touched |= bit;
    l.held |= bit;
    if (write) l.writer = tile.value;
  }
  /// `tile` has lost its copy; `goes_home`: to no other tile.
  void on_loss(TileId tile, LineAddr line, bool goes_home) {
    const auto found = lines_.find(line.value);
    if (found == lines_.end()) return;
    Line& l = found->second;
    l.held &= ~(std::uint64_t{1} << tile.value);
    if (!goes_home || l.held != 0) return;
    l.touched = 0;
    l.is_active = l.is_counted = false;
  }

  void register_stats(StatRegistry& registry) const {
    registry.counter("chip.sharing.misses", "accesses", "private misses", &misses_);
    registry.counter("chip.sharing.shared_misses", "accesses",
                     "private misses of lines that another tile holds or wrote last", &shared_);
    registry.counter("chip.sharing.lines_out", "lines", "times that a line was out, each with a private miss",
                     &out_);
    registry.counter("chip.sharing.active", "lines",
                     "times that a second tile touched a line while it was out", &active_);
    registry.counter("chip.sharing.migrations", "accesses",
                     "private misses that write what another tile wrote last", &migrations_);
  }

 private:
  static constexpr std::uint32_t kNobody = ~0U;
  struct Line {
    std::uint64_t touched = 0, held = 0;  // tiles
    std::uint32_t writer = kNobody;       // the last one
    bool is_active = false, is_counted = false;
  };
  std::unordered_map<std::uint64_t, Line> lines_;  // looked up only
  std::uint64_t misses_ = 0, shared_ = 0, out_ = 0, active_ = 0, migrations_ = 0;
};

}  // namespace rubato::chip
