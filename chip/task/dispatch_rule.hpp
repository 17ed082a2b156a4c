// Whether and how a task may run: the one place where speculation will enter dispatch (C10, C11). Locales and
// the order among candidates are the task queue's.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/task/task_record.hpp"

namespace rubato::chip {

enum class RunMode : std::uint8_t { none, non_speculative, speculative };

/// Contract: depends on the task and on what the tile knows only; monotone in the order: if a timestamped
/// task may not run, none later in its lane may.
class DispatchRule {
 public:
  virtual ~DispatchRule() = default;
  /// @param gvt as last broadcast to the tile.
  virtual RunMode may_run(const Task& task, const VirtualTime& gvt) const = 0;
};

/// C10 where nothing speculates: parents are always non-speculative and no promotion is ever served, so a
/// task may run if it has no timestamp or that of the earliest active task. MAYSPEC runs as NONSPEC.
class NonSpeculativeRule final : public DispatchRule {
 public:
  RunMode may_run(const Task& task, const VirtualTime& gvt) const override {
    const bool ready = !task.descriptor.has_timestamp || task.descriptor.timestamp <= gvt.timestamp;
    return ready ? RunMode::non_speculative : RunMode::none;
  }
};

}  // namespace rubato::chip
