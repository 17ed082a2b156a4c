// Every instruction that cores executed in detail, one line each, with its function, its text, its result and
// what it accessed. Tab-separated, compressed while it is written. Lines are in the order of execution: those
// of one core in the order of its program, those of several cores sorted by cycle only if the reader sorts
// them.
// SPDX-License-Identifier: MIT
#pragma once

#include "chip/session/instruction_log.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class InstructionTrace final : public InstructionLog {
 public:
  struct Options : InstructionLog::Options {
    Cycle from{};
    Cycle to = kNever;  ///< instructions that issue in [from, to)
  };
  /// @throws UsageError if the file cannot be made.
  explicit InstructionTrace(Options options);

  /// @throws UsageError if the disk is full.
  void on_instruction(const ExecutedInstruction& executed) override;

 private:
  Cycle from_, to_;
};

}  // namespace rubato::chip
