// Selective aborts (C14): finds everything that must go with the victims of a conflict, and restores memory.
// Espresso, Sec. V-A "Scalable speculation".
//
// Together with an attempt go its children, and whatever depended on it: later attempts that read or wrote a
// line it wrote. The set is closed by a worklist before anything is undone. Then old values are put back in
// one step, those of the latest attempt first and within an attempt the last store first: of one word,
// uncommitted stores were made in virtual-time order, so the oldest value is what remains. Tiles follow in
// time (TaskUnit::abort).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "chip/noc/network.hpp"
#include "chip/speculation/aborter.hpp"
#include "chip/speculation/speculation_control.hpp"
#include "chip/task/arbiter.hpp"
#include "chip/task/task_fault.hpp"

namespace rubato::chip {

class AddressSpace;
class TaskUnit;
struct TaskContext;

class AbortCascade final : public Aborter {
 public:
  AbortCascade(TaskContext& context, AddressSpace& memory, std::vector<std::unique_ptr<TaskUnit>>& tiles)
      : context_(context), memory_(memory), tiles_(tiles) {}

  // Aborter
  void abort(std::span<Attempt* const> victims, const AbortReason& cause, Cycle now) override;
  bool is_fate_pending(const Attempt& attempt) const override;
  bool is_decided(const Attempt& attempt) const override;
  void wait_for_fate(CoreId core) override;
  VirtualTime gvt_at(TileId tile) const override;

  /// The attempt stopped at what only a non-speculative task may do (C18): its stores are undone, its
  /// children and dependents go, its read set stays.
  void except(Attempt& attempt, Cycle now);

  /// Bugs to put in on purpose: the replay checker's own tests.
  void inject(AbortFault fault) { fault_ = fault; }

 private:
  struct Victim {
    Attempt* attempt;
    AbortReason reason;
  };
  void doom(Attempt* attempt, const AbortReason& reason);
  void close(Cycle now);
  void doom_all_later();
  void doom_children(Attempt& attempt, Cycle now);
  void doom_dependents(const Attempt& attempt, Cycle now);
  void restore(const Attempt& attempt);

  TaskContext& context_;
  AddressSpace& memory_;
  std::vector<std::unique_ptr<TaskUnit>>& tiles_;
  std::vector<Victim> victims_;
  std::vector<Attempt*> later_;  // scratch
  std::vector<Task*> discarded_;
  AbortFault fault_ = AbortFault::none;
};

}  // namespace rubato::chip
