// A tile's abort handlers from the abort of their attempts until they start. Espresso, Sec. V-C; P45.
//
// Each stands in its record, a line of simulated memory that registering it has written, and needs no entry
// of the task queue. A free core reads the record and starts the task. It does so before it would start an
// attempt, so the handlers that wait are at most those of the attempts that exist: an attempt takes what its
// handler gives back only where no other handler of the tile waits. While a promotion is served no handler
// may run, and therefore no attempt starts where one waits.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "chip/task/tile_state.hpp"

namespace rubato::chip {

class AbortHandlers {
 public:
  explicit AbortHandlers(TileState& state) : state_(state) {}

  /// Not null; `record`: the line it stands in.
  void add(Task* task, LineAddr record, Cycle now);
  /// At least one handler has not started.
  bool any() const { return waiting_ != 0; }

  /// The next one whose record a core may read. Null: there is none.
  Task* unread() const { return unread_.empty() ? nullptr : unread_.front().task; }
  /// The next one that was read and may start. Null: there is none.
  Task* ready() const { return ready_.empty() ? nullptr : ready_.front().task; }

  /// The core of `slot` reads the record of unread().
  void start_read(std::uint32_t slot);
  bool is_reading(std::uint32_t slot) const { return reading_[slot].task != nullptr; }
  /// @returns the cycle of the next step, or kNever: the handler is ready.
  Cycle step_read(CoreId core, Cycle now);
  /// ready() starts: it is no longer here.
  void start(Cycle now);

 private:
  struct Waiting {
    Task* task = nullptr;
    LineAddr record{};
    Cycle since{};    ///< of the abort
    Cycle arrival{};  ///< of the record at the core that reads it; 0: it has not been asked for
  };

  TileState& state_;
  std::uint64_t waiting_ = 0;                        // the sum of those in what follows
  std::deque<Waiting> unread_, ready_;               // in the order of their aborts
  std::array<Waiting, kMaxCoresPerTile> reading_{};  // by slot
};

}  // namespace rubato::chip
