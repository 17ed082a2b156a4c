// The stores of a window core on their way to the L1, from their commit on: each performs when its line is
// there and writable, those of a line in the order of the program. A task's store that has lost the right to
// its page is a fault of the task.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "chip/core/window/window_loads.hpp"
#include "chip/core/window/window_parts.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class WindowStores {
 public:
  /// Both outlive this.
  WindowStores(WindowParts& window, WindowLoads& loads) : w_(window), loads_(loads) {}

  /// When the L1 has the last store that was written.
  std::uint64_t last_end() const { return last_end_; }
  /// When the L1 has a store that hits at `at`: not before its line.
  std::uint64_t end_of(LineAddr line, std::uint64_t at) const {
    return at < w_.state.fills_until ? w_.buffers.done_with(line, at) : at;
  }
  /// A store that never was in the queue: memory has its bytes now, and the L1 at `done`.
  void write(Addr address, unsigned bytes, std::uint64_t value, std::uint64_t complete, std::uint64_t done) {
    w_.tasks.write(address, bytes, value);
    note_written({address, address + bytes, complete, done});
  }
  /// A store that went alone, to two lines: memory has it.
  void note_alone(const WindowEntry& e, std::uint64_t complete);

  /// The queued store of the instruction at `position` commits at `at`; its value was there at `complete`.
  void commit(std::uint64_t position, std::uint64_t at, std::uint64_t complete);
  /// The action of a store, which may be gone.
  void act(const WindowAction& action);
  /// Committed stores to [begin, end) are done now. @returns whether there were any.
  bool perform_all(Addr begin, Addr end);

  // ---- Faults ----
  /// A committed store has lost its page.
  bool has_fault() const { return has_fault_; }
  void forget_fault() { has_fault_ = false; }
  /// The store leaves the queue as a fault. Nothing is in the reorder buffer. `resume`: the page has come
  /// back.
  PipelineStop raise_fault();

  // ---- Messages; see WindowLoads ----
  AccessParts* awaiting(LineAddr line);
  void list_blocked(std::vector<LineAddr>& lines) const;
  void perform_line(LineAddr line, std::uint64_t at);

 private:
  /// Performs the committed store, whose cycle `at` is, if it can. Only a due store may leave the L1.
  void perform(std::size_t index, std::uint64_t at, bool is_due);
  void end(std::size_t index, std::uint64_t at, std::uint64_t done);
  /// Memory has the store, and the L1 at `done`: it leaves the queue.
  void write_out(std::size_t index, std::uint64_t done);
  void note_written(const WrittenStore& store) {
    w_.stores.add_written(store, w_.point.cycle());
    last_end_ = std::max(last_end_, store.done);
  }

  WindowParts& w_;
  WindowLoads& loads_;
  std::uint64_t last_end_ = 0;
  bool has_fault_ = false;
};

}  // namespace rubato::chip
