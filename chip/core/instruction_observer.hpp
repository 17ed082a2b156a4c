// Sees every instruction that cores execute in detail, of threads and of tasks, aborted attempts and doomed
// runs included. It changes no result: cores that are watched execute the instance of the interpreter that
// has the hooks.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "chip/isa/insn.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

struct ExecutedInstruction {
  CoreId core;
  Cycle issued;  ///< when it issued; of system calls and task instructions when they were done
  Addr pc;
  const isa::Insn& insn;
  const std::uint64_t* registers;  ///< by uniform number (isa::Insn), behind the instruction
  Addr address;                    ///< of the access, if the instruction made one
  bool has_access;
};

/// Contract: an instruction that took effect is shown once, and those of a core in the order of its program.
/// A core that runs ahead of the clock is seen when it acts: those of several cores are not in the order of
/// their cycles.
class InstructionObserver {
 public:
  virtual ~InstructionObserver() = default;
  /// Thread `id` is on the core from now on; TaskObserver reports tasks.
  virtual void on_thread(CoreId core, std::uint32_t id) = 0;
  virtual void on_instruction(const ExecutedInstruction& executed) = 0;
};

/// Tells several.
class InstructionObservers final : public InstructionObserver {
 public:
  /// Outlives its use.
  void add(InstructionObserver& observer) { observers_.push_back(&observer); }

  void on_thread(CoreId core, std::uint32_t id) override {
    for (auto* o : observers_) o->on_thread(core, id);
  }
  void on_instruction(const ExecutedInstruction& executed) override {
    for (auto* o : observers_) o->on_instruction(executed);
  }

 private:
  std::vector<InstructionObserver*> observers_;
};

}  // namespace rubato::chip
