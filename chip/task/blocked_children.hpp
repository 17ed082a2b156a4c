// A tile's SPEC tasks whose untimestamped, non-speculative creators still run: they appear after those, so
// they wait for their end. They hide no other task: their creator may be waiting, in a system call, for what
// is behind them.
// SPDX-License-Identifier: MIT
#pragma once

#include "chip/task/tile_state.hpp"

namespace rubato::chip {

class BlockedChildren {
 public:
  explicit BlockedChildren(TileState& state) : state_(state) {}

  /// Takes blocked children out of the dispatch order; those whose creators have ended come back.
  void set_aside();
  /// Blocked children become runnable without a message from their creators' tiles: the unit looks again,
  /// some time later.
  void poll(Cycle now);

 private:
  TileState& state_;
};

}  // namespace rubato::chip
