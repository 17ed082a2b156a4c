// Task instructions outside of tasks: threads create the first tasks, ask about the chip, and enter regions.
// In fast-forward nothing speculates, so that a capsule is a vectored call and nothing more (P11).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "chip/config/config.hpp"
#include "chip/core/core.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/isa/insn.hpp"
#include "chip/isa/task_instructions.hpp"
#include "chip/memory/fault.hpp"
#include "chip/os/thread.hpp"
#include "chip/program/program.hpp"
#include "chip/speculation/task_system.hpp"

namespace rubato::chip {

class TasksOutside {
 public:
  /// `is_shared`: programs side by side have no tasks (K80). `workers`: threads that are to serve a region.
  /// Parameters given by reference outlive it.
  TasksOutside(const Config& config, TaskSystem& tasks, std::uint32_t workers, bool is_shared)
      : config_(config), tasks_(tasks), workers_(workers), is_shared_(is_shared) {}

  /// The consequence of an instruction.
  struct Next {
    enum class Is : std::uint8_t {
      go_on,   ///< it is done
      region,  ///< the thread calls run()
      worker,  ///< the thread becomes a worker
      fault,   ///< of the program
    } is = Is::go_on;
    Fault fault{};
  };
  /// Executes `insn` of `thread`, which is in fast-forward.
  Next execute(Program& program, Thread& thread, const isa::Insn& insn);

  /// A thread in detail creates a task.
  void create(const TaskDescriptor& task) {
    if (!is_shared_) tasks_.create_before_region(task);  // else its region instruction will be refused
  }
  /// A program without the symbol that tells of tasks has come to its first region.
  bool refuses_regions() const { return is_shared_; }
  static Fault refusal(const Thread& thread) {
    return {FaultKind::task_error, thread.regs.pc, 0,
            "a task instruction, but tasks run only where one program has the whole chip"};
  }

 private:
  Next execute_capsule(Program& program, HartState& hart, const isa::Insn& insn);
  std::uint64_t read(isa::ReadSelector selector, const HartState& hart) const;

  const Config& config_;
  TaskSystem& tasks_;
  const std::uint32_t workers_;
  const bool is_shared_;
};

}  // namespace rubato::chip
