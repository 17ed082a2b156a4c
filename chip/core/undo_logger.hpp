// Undo log for the stores of a core's speculative tasks, in the attempt and in simulated memory (C14).
// Neither own stack nor untracked pages need it.
//
// Room comes first: a store that waited for a line of the log with its own line in hand could lose it.
// Invariant: the attempt's undo entries fit the lines of the log that it has taken.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "chip/conflict/log_lines.hpp"
#include "chip/core/access_buffers.hpp"
#include "chip/core/memory_port.hpp"
#include "chip/core/pipeline_state.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class UndoLogger {
 public:
  UndoLogger(PipelineState& state, MemoryPort& port, AccessBuffers& buffers)
      : state_(state), port_(port), buffers_(buffers), lines_(state.ports.log_base, state.ports.log_lines) {}

  /// The number of log entries that a store of `bytes` at `address` needs.
  std::size_t entries_of(Addr address, unsigned bytes) const;
  /// Before a speculative store accesses its own line: there is room for so many more entries. False: the
  /// pipeline leaves; a line that is taken stays taken.
  bool make_room(std::size_t entries, IssueSlot& slot);
  /// Logs the words that a speculative store of `bytes` at `address` is about to overwrite. There is room.
  void log(Addr address, unsigned bytes);
  /// Returns lines of this core's logs, taken by an attempt that is committed or restored.
  void give_back(std::vector<LineAddr>& lines) { lines_.give_back(lines); }

 private:
  bool is_logged(Addr word) const { return !state_.rights.is_untracked(line_of(word)); }
  bool take_line(IssueSlot& slot);

  PipelineState& state_;
  MemoryPort& port_;
  AccessBuffers& buffers_;
  LogLines lines_;
};

}  // namespace rubato::chip
