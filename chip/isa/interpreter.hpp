// The functional interpreter (fast-forward, C4): instructions have effects but no time. One hart runs at
// a time, on the calling host thread.
//
// Reservations: run() starts without one. Stores of another hart or of the kernel need a switch or a system
// call, and both pass through run(). So no other store can come between an lr and the sc that it lets
// succeed. The budget is checked between blocks only; give at least 64 instructions so that every lr/sc loop
// gets through.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/isa/block_cache.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/isa/insn.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/memory/fault.hpp"

namespace rubato::chip::isa {

/// The counters that csrr cycle, time and instret read.
class CounterSource {
 public:
  virtual ~CounterSource() = default;
  /// `number` is csr::cycle, csr::time or csr::instret; `executed`: instructions of this run() before this
  /// one.
  virtual std::uint64_t read_counter(unsigned number, std::uint64_t executed) = 0;
};

enum class StopReason : std::uint8_t {
  budget,     ///< the budget is used up (by at most one block more)
  ecall,      ///< pc is at the ecall, which counts as executed; the code that performs the call advances pc
  fence_i,    ///< pc is at the fence.i, which counts as executed: flush the blocks, advance pc by 4
  task,       ///< pc is at the task instruction `insn`, which does not count yet
  fault,      ///< pc is at the faulting instruction, which does not count
  stop,       ///< pc is the stop pc of the block cache
  host_call,  ///< pc is at the entry of a function that the simulator serves; `insn`'s imm says which
};

struct RunResult {
  StopReason reason = StopReason::budget;
  std::uint64_t instructions = 0;  ///< executed
  Insn insn;                       ///< the instruction at pc, for ecall, fence_i, task, fault
  Fault fault;                     ///< for fault
};

/// Sees what a run touches, before it does: for warming caches (C4).
class AccessObserver {
 public:
  virtual ~AccessObserver() = default;
  virtual void on_data(Addr address, unsigned bytes, bool is_store) = 0;
  /// Execution enters a block: all its instructions start in one line.
  virtual void on_fetch(Addr pc) = 0;
};

class Interpreter {
 public:
  Interpreter(AddressSpace& memory, BlockCache& blocks, CounterSource& counters)
      : memory_(&memory), blocks_(&blocks), counters_(counters) {}

  /// From the next run() on: code and data are those of another process. Outlive their use.
  void enter(AddressSpace& memory, BlockCache& blocks) { memory_ = &memory, blocks_ = &blocks; }

  /// From the next run() on; null: no observer, at no cost. Outlives its use.
  void observe(AccessObserver* observer) { observer_ = observer; }

  /// Runs `hart` from its pc until something of StopReason happens. fcsr is complete when it returns.
  RunResult run(HartState& hart, std::uint64_t budget) {
    return observer_ == nullptr ? execute<false>(hart, budget) : execute<true>(hart, budget);
  }

 private:
  template <bool is_observed>
  RunResult execute(HartState& hart, std::uint64_t budget);

  AddressSpace* memory_;
  BlockCache* blocks_;
  CounterSource& counters_;
  AccessObserver* observer_ = nullptr;
  RunResult result_;  // of the present run: a pointer to the caller's would take a register
};

}  // namespace rubato::chip::isa
