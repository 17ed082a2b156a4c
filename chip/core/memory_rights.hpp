// The rights of the code on a core beyond those of the pages, and the accesses that are checked: worker
// stacks (C7), untracked memory (P29, P30) and doomed runs (P37). Looks at addresses only, and changes
// nothing.
// - Own stack: the stack of the core's worker. Its lines are neither versioned nor checked; no other core may
//   touch them.
// - Untracked: lines that are neither versioned nor checked, which are the own stack and pages marked as
//   untracked. Such pages are for capsules and non-speculative code.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>

#include "chip/core/running_task.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class MemoryRights {
 public:
  /// All outlive this.
  MemoryRights(const AddressSpace& memory, const RunningTask& task, const HartState& hart)
      : memory_(&memory), task_(task), hart_(hart) {}

  const AddressSpace& memory() const { return *memory_; }
  /// From now on addresses are those of `memory`. Outlives its use.
  void enter(const AddressSpace& memory) { memory_ = &memory; }

  /// [low, high): the only pages marked Page::kWorkerStack that the core may touch.
  void set_own_stack(Addr low, Addr high) { stack_low_ = low, stack_high_ = high; }
  std::pair<Addr, Addr> own_stack() const { return {stack_low_, stack_high_}; }

  /// A line that only begins or ends in the stack is not.
  bool is_own_stack(LineAddr line) const {
    return addr_of(line) >= stack_low_ && addr_of(line) + kLineBytes <= stack_high_;
  }
  bool is_in_untracked_page(Addr address) const {
    return (memory_->attributes(address) & Page::kUntracked) != 0;
  }
  bool is_untracked(LineAddr line) const { return is_own_stack(line) || is_in_untracked_page(addr_of(line)); }

  /// Whether hits in untracked pages are allowed now (L1Cache::set_rights).
  bool has_untracked() const {
    return task_.attempt == nullptr || hart_.capsule_depth != 0 ||
           task_.injected == CapsuleFault::untracked_hit_without_rights;
  }
  /// Speculative code outside capsules touches untracked memory (P29).
  bool lacks(Addr address, unsigned bytes) const {
    return task_.attempt != nullptr && hart_.capsule_depth == 0 && begins_or_ends_untracked(address, bytes) &&
           is_for_capsules(address, bytes);
  }
  /// lacks() of one byte, such as the first of an instruction.
  bool lacks(Addr address) const {
    return task_.attempt != nullptr && hart_.capsule_depth == 0 && is_in_untracked_page(address) &&
           !is_own_stack(line_of(address));
  }
  /// A doomed run's access to tracked memory that must not be performed: of a store, always (P37).
  bool drops(Addr address) const {
    return task_.is_doomed && !is_untracked(line_of(address)) &&
           task_.injected != CapsuleFault::doomed_store_performed;
  }
  /// A doomed run goes on without an access that the page does not allow. Tracked memory may be anything to
  /// it. In untracked memory, and before it was doomed, it is the capsule's error.
  bool forgives(Addr address) const { return task_.is_doomed && !is_in_untracked_page(address); }

  /// Asked on L1 misses only: a line of another worker's stack is in no L1 of this core (the chip sees to
  /// it).
  bool is_foreign_stack(Addr address, unsigned bytes) const;
  /// Names the error of a task that touched such an address.
  std::string foreign_stack_sentence(Addr address) const;

 private:
  /// In a page of untracked memory: few programs have one.
  bool begins_or_ends_untracked(Addr address, unsigned bytes) const {
    return ((memory_->attributes(address) | memory_->attributes(address + bytes - 1)) & Page::kUntracked) !=
           0;
  }
  bool is_for_capsules(Addr address, unsigned bytes) const;

  const AddressSpace* memory_;
  const RunningTask& task_;
  const HartState& hart_;
  Addr stack_low_ = 0, stack_high_ = 0;
};

}  // namespace rubato::chip
