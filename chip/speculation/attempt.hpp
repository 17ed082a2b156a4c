// A speculative attempt: everything the chip remembers of a task between its speculative dispatch and its
// commit or abort. Espresso, Sec. V-A; C9, C14. Kept by the tile's commit queue when the body has ended.
//
//   running     on a core
//   suspended   without a core: its capsule waits in a system call (P50)
//   finished    its body ended, it waits for its commit
//   exceptioned it stopped at what only a non-speculative task may do: writes undone, read set armed (C18)
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "chip/speculation/probe.hpp"
#include "chip/stats/cycle_account.hpp"
#include "chip/vocabulary/task.hpp"
#include "chip/vocabulary/types.hpp"
#include "chip/vocabulary/virtual_time.hpp"

namespace rubato::chip {

struct Task;

/// An undo log entry: the old contents of an aligned 8-byte word that a store overwrote.
struct UndoEntry {
  Addr address;
  std::uint64_t old_value;
};

/// The task to run if the attempt is aborted, and the line of its core's handler area that records it (P44).
struct Handler {
  TaskDescriptor task;
  LineAddr record{};
};

struct Attempt {
  enum class State : std::uint8_t { running, suspended, finished, exceptioned };

  Task* task = nullptr;
  VirtualTime virtual_time{};
  TileId tile{};
  CoreId core{};           ///< where it runs, or ran last
  std::uint32_t slot = 0;  ///< the tile's column of signatures
  State state = State::running;
  std::vector<Probe> reads, writes;  ///< every line recorded, perhaps more than once
  std::vector<UndoEntry> undo;       ///< in the order of the stores
  std::vector<LineAddr> log_lines;   ///< of simulated memory, kLogEntriesPerLine entries each
  std::vector<Task*> children;       ///< uncommitted ones, at most task.tracked_children, and held ones
  AttemptCycles cycles;              ///< on `core`

  // The task units' own.
  std::uint32_t held_children = 0;  ///< of `children`: in its tile until it commits, so nothing tracks them
  std::uint32_t number = 0;         ///< in the pool of attempts
  std::uint32_t queue_index = 0;    ///< in the commit queue
  bool is_victim = false;           ///< to be aborted by the abort being carried out, or aborted
  bool is_queued = false;           ///< in the commit queue
  bool is_rolling_back = false;     ///< its stores are being restored, in time; in memory they already are
  bool holds_core = false;          ///< until they are restored
  bool has_moved = false;           ///< it has waited, and gone on on another core (P50)

  std::vector<Handler> handlers;             ///< that its capsules registered, in that order (P12)
  std::vector<AttemptCycles> cycles_before;  ///< on the cores that it ran on before, in that order (P50)
};

/// 16 bytes an entry: address and old word (C14).
inline constexpr std::uint32_t kLogEntriesPerLine = 4;

}  // namespace rubato::chip
