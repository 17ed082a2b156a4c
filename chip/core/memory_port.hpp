// A core's way to memory: its L1D with the marks there (C15), and behind it the memory system. Knows no
// buffers: an access is made at a cycle, and is done or blocked.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/cache/l1_cache.hpp"
#include "chip/core/pipeline_state.hpp"
#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"
#include "chip/vocabulary/virtual_time.hpp"

namespace rubato::chip {

class MemoryPort final : private L1Recorder {
 public:
  /// `forwards`: conflict.forwarding; else marks do not cover uses of an earlier task's writes on this core.
  MemoryPort(PipelineState& state, bool forwards) : state_(state), forwards_(forwards) {}
  MemoryPort(const MemoryPort&) = delete;  // the L1 may know it
  MemoryPort& operator=(const MemoryPort&) = delete;

  /// Asks the L1 (again, if it has not `missed` just now), which does not know yet its untracked lines.
  bool hits(LineAddr line, bool write, bool missed = false);
  /// Every access to the memory system goes through here. Not done: the pipeline leaves.
  AccessResult access(LineAddr line, AccessKind kind, std::uint64_t issue);
  /// The kind of access after hits() has refused a load or store of `line`: unchecked as a whole, or checked
  /// as a whole.
  AccessKind unchecked(LineAddr line, AccessKind kind) const {
    if (!state_.ports.l1d.has_marks() || (!state_.task.is_doomed && !state_.rights.is_untracked(line)))
      return kind;
    return is_write(kind) ? AccessKind::untracked_store : AccessKind::untracked_load;
  }

  /// Other cores go first: software prefetch, meanwhile, of the host memory that the access will read.
  void announce(LineAddr line, Addr address);

  /// From now on hits need marks: lines of untracked memory in the L1 are marked as untracked (P30).
  void begin_marks();
  /// The task whose attempt is in the state begins or goes on. Marks (which speculation needs) of a later
  /// attempt are cleared.
  void begin_task();
  /// Nothing is recorded any longer, and all may be used.
  void end_speculation();
  /// A capsule has begun or ended.
  void update_rights() { state_.ports.l1d.set_rights(state_.rights.has_untracked()); }

  /// The task is aborted, perhaps by the access that is being made.
  void stop_task() { is_stopped_ = true; }
  /// stop_task() has been called since the last access began.
  bool is_stopped() const { return is_stopped_; }

 private:
  void mark_unchecked(LineAddr line);
  void on_first_use(LineAddr line, bool write) override;

  PipelineState& state_;
  VirtualTime last_{};  // of the last speculative task: what the L1's marks for those are good for
  bool forwards_;
  bool is_stopped_ = false;
};

}  // namespace rubato::chip
