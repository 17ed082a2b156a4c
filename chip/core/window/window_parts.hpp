// Parts of a window core that its stages work on: the entries, the queues and the times of its instructions.
// Stages know each other only in this order: WindowSquash, WindowLoads, WindowStores, WindowCommit,
// WindowDispatch, WindowCore.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "chip/config/config.hpp"
#include "chip/core/pipeline_parts.hpp"
#include "chip/core/window/dispatch_point.hpp"
#include "chip/core/window/pending_entries.hpp"
#include "chip/core/window/task_accesses.hpp"
#include "chip/core/window/window_actions.hpp"
#include "chip/core/window/window_fault.hpp"
#include "chip/core/window/window_issue.hpp"
#include "chip/core/window/window_queues.hpp"
#include "chip/core/window/window_reports.hpp"
#include "chip/core/window/window_stats.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

struct WindowParts : WindowQueues {
  WindowParts(const Config& config, PipelineParts& parts)
      : WindowQueues(config.core),
        state(parts.state),
        pipeline(parts),
        port(parts.lsu.port()),
        buffers(parts.lsu.buffers()),
        point(config.core),
        pending(buffer, config.core.rob),
        issue(config.core, buffer, pending, point),
        tasks(state, parts.lsu.log()),
        reports(state) {}
  WindowParts(const WindowParts&) = delete;  // they know each other
  WindowParts& operator=(const WindowParts&) = delete;

  /// No instruction has an entry, and no observer wants one: an instruction with known times needs none.
  bool is_open() const { return buffer.is_empty() && !reports.any(); }
  void advance_to(std::uint64_t cycle) { now = std::max(now, cycle); }
  /// An access to the L1 or beyond, which refused it a moment ago as a hit.
  AccessResult access(LineAddr line, AccessKind kind, std::uint64_t at) {
    const AccessResult result = port.access(line, port.unchecked(line, kind), at);
    if (result.disturbed) note_disturbed();
    return result;
  }
  /// Other tasks were aborted: nothing strict passes the next events of their cores.
  void note_disturbed() { point.lower_limit(point.end(state.window)); }
  /// Messages have been sent.
  void narrow() {
    if (state.ports.timeline != nullptr) state.window.narrow(state.ports.timeline->next());
    note_disturbed();
  }
  void add_action(const WindowAction& action) {
    actions.add(action);
    if (state.window.is_strict(action.at)) point.lower_limit(action.at);
  }
  /// An access that is to be made at `at`, without waiting for an action, acts before all others.
  bool is_first_action(std::uint64_t at) const { return at <= point.cycle() + 1 && actions.next() >= at; }

  PipelineState& state;
  PipelineParts& pipeline;
  MemoryPort& port;
  AccessBuffers& buffers;
  std::uint64_t now = 0;      ///< the clock, or the cycle of the action at hand
  bool is_cancelled = false;  ///< in this call, by an access of its own
  bool is_blocked = false;    ///< an access waits for the decision on a conflict
  DispatchPoint point;
  PendingEntries pending;
  WindowIssue issue;
  WindowActions actions;
  TaskAccesses tasks;
  WindowReports reports;
  WindowStats stats;
  WindowFault fault = WindowFault::none;
};

}  // namespace rubato::chip
