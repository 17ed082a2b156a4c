// Interface of an execution model: how a core executes instructions, and how long they take. The core makes
// one call a run slice, and passes on events of accesses that are under way. Registers, counters, the
// load-store unit and the reason of a stop are in the parts that the core owns and every model shares
// (PipelineParts). `core.model` chooses the model; chip/config/core_models.hpp lists them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "chip/config/config.hpp"
#include "chip/core/departure.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class StatRegistry;
struct PipelineParts;

class CoreModel {
 public:
  CoreModel() = default;
  CoreModel(const CoreModel&) = delete;
  CoreModel& operator=(const CoreModel&) = delete;
  virtual ~CoreModel() = default;

  /// Executes until something stops it. `now` is the chip's clock; `next_other` the cycle of the earliest
  /// other pending event: nothing that others can see happens at or after it, unless at `now`.
  /// Stops soon after `pause_at`, which changes no result: run() then goes on from there. "Soon" is some
  /// thousand cycles where others have events by then.
  /// `deferred`: nothing can be done until messages come.
  virtual PipelineStop run(Cycle now, Cycle next_other, Cycle pause_at = kNever) = 0;

  /// Whether the thread can leave the core.
  /// - now: nothing is under way.
  /// - awaits: an access waits for messages, and the core for it.
  /// - drains: run() begins nothing more, and stops with `drained` when nothing is under way.
  enum class Leaving : std::uint8_t { now, awaits, drains };
  virtual Leaving begin_leaving() = 0;

  /// The running task is aborted at `at`: nothing that it began happens any longer. A doomed run goes on at
  /// the first instruction that has not been committed. May be called from within a call of this model, by an
  /// access that aborts its own task: a run then stops with `blocked`.
  virtual void cancel(Cycle at) = 0;

  /// Messages have brought `line`, or the right to it. False: nothing waits for it.
  virtual bool note_ready(LineAddr line) = 0;
  /// Accesses that wait for the line perform. True: the core is to go on at once, for more can be done now.
  virtual bool perform(LineAddr line, Cycle now) = 0;
  /// Accesses that are under way wait for the decision on a conflict: perform_blocked() when it may have
  /// come.
  virtual bool is_blocked() const = 0;
  virtual bool perform_blocked(Cycle now) = 0;
  /// Pages of [begin, end) are about to change: earlier accesses to them perform now, or are done again after
  /// the change. True: run() is to follow.
  virtual bool perform_at_once(Addr begin, Addr end, Cycle now) = 0;
  /// The thread leaves: committed instructions take effect, the others it will execute elsewhere.
  virtual void flush(Cycle now) = 0;

  /// Statistics of this model only; `prefix` is the core's.
  virtual void register_stats(StatRegistry& registry, const std::string& prefix) const;
};

/// Makes the model that `core.model` names. `parts` outlives it.
std::unique_ptr<CoreModel> make_core_model(const Config& config, PipelineParts& parts);

}  // namespace rubato::chip
