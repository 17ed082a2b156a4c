// Fast-forward (C4): runs the threads of a process functionally, without cores, caches or cycles, in
// turns of a fixed number of instructions. A function of the program and its inputs alone.
//
// Simulated time advances by one nanosecond every two instructions (a 2 GHz core at one instruction a cycle),
// and jumps to the next timeout when every thread waits.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "chip/isa/block_cache.hpp"
#include "chip/isa/interpreter.hpp"
#include "chip/os/process.hpp"

namespace rubato::chip {

class FastForward : private isa::CounterSource {
 public:
  enum class Stop : std::uint8_t {
    budget,            ///< the budget is used up; run() goes on where it stopped
    stop_pc,           ///< `thread` is at the stop pc
    task_instruction,  ///< `thread` is at the task instruction `insn`: perform it, advance pc, run on
    chip_call,         ///< `thread` is at a system call that run() stops before (stop_at_marks)
    exited,            ///< the program exited or a signal ended it
    deadlock,          ///< every thread waits, none with a time limit
    fault,             ///< `thread` faulted and has no handler
  };
  struct Result {
    Stop stop = Stop::budget;
    Thread* thread = nullptr;
    isa::Insn insn{};
    Fault fault{};
  };

  /// The budget of every run() of a chip: a program that goes on from a checkpoint has the turns and times of
  /// one that was not stopped.
  static constexpr std::uint64_t kAtOnce = 1 << 24;

  /// @param quantum instructions a thread runs at a time, at least 64
  FastForward(Process& process, AddressSpace& memory, isa::BlockCache& blocks, std::uint64_t quantum);

  /// Runs runnable threads that are no workers until one of Stop happens. `stop`: stops before the
  /// instruction there. Registers of all threads are valid before and after.
  Result run(std::optional<Addr> stop, std::uint64_t budget);

  /// Shows every access of every thread to `observer`, and names the thread before.
  class Observer : public isa::AccessObserver {
   public:
    virtual void on_turn(const Thread& thread) = 0;
  };
  void observe(Observer* observer) {
    observer_ = observer;
    interpreter_.observe(observer);
  }

  /// Serves the functions that the block cache knows as host calls.
  class HostCalls {
   public:
    virtual ~HostCalls() = default;
    /// `thread` is at the entry of function `number`. @returns a fault of the thread, or nothing: it goes on
    /// at its pc.
    virtual std::optional<Fault> host_call(Thread& thread, std::int32_t number) = 0;
  };
  void serve(HostCalls* host_calls) { host_calls_ = host_calls; }

  /// An `ebreak` stops fast-forward as a fault without a handler does: a debugger's.
  void leave_breakpoints() { leaves_breakpoints_ = true; }

  /// From now on: run() stops before a mark of a region. `and_chip_calls`: also before a system call whose
  /// answer depends on the chip, or that starts a thread, a process or a program.
  void stop_at_marks(bool and_chip_calls) {
    stops_at_ = and_chip_calls ? StopsAt::chip_calls : StopsAt::marks;
  }
  /// A system call since then has had an answer that depends on the number of cores.
  bool has_asked_for_cores() const { return has_asked_for_cores_; }

  /// The instruction that `thread` is at, where run() stopped, counts when it is done.
  void take_back(Thread& thread);
  /// How far it is, for checkpoints: run() has stopped at an instruction of a thread, which goes on first.
  void save(CheckpointWriter& file) const;
  void restore(CheckpointReader& file);

  /// The other threads run before the one that was stopped does.
  void end_turn() { turn_left_ = 0; }
  /// run() returns when the instruction is over, as if its budget were.
  void stop() {
    turn_left_ = 0;
    is_stopped_ = true;
  }

  std::uint64_t instructions() const { return instructions_; }
  /// Simulated time that fast-forward has made pass.
  std::uint64_t nanoseconds() const { return instructions_ / 2 + skipped_ns_; }

 private:
  /// Runs a turn of a thread; nothing: the next thread's turn follows.
  std::optional<Result> run_turn(Thread& thread, std::uint64_t& budget);
  /// The runnable thread whose turn it is, or null.
  Thread* next_thread();
  /// The next instructions are those of the process of `thread`. @returns its decoded code. Only the
  /// program's own memory is observed.
  isa::BlockCache& enter(const Thread& thread);
  /// The system call of `thread` is one that run() stops before.
  bool stops_before_call(const Thread& thread);
  std::uint64_t read_counter(unsigned number, std::uint64_t executed) override;

  enum class StopsAt : std::uint8_t { nothing, marks, chip_calls };

  Process& process_;
  AddressSpace& memory_;
  isa::BlockCache& blocks_;
  isa::Interpreter interpreter_;
  const std::uint64_t quantum_;
  Observer* observer_ = nullptr;
  HostCalls* host_calls_ = nullptr;
  bool leaves_breakpoints_ = false;
  StopsAt stops_at_ = StopsAt::nothing;
  bool has_asked_for_cores_ = false;
  std::uint64_t turn_left_ = 0;    // of the thread at turn_
  std::uint64_t budget_left_ = 0;  // of run(), when it stopped
  bool is_stopped_ = false;
  // Restored in the middle of a turn: no timeout is looked at before it goes on. A turn that was over where
  // run() stopped got one instruction for that.
  bool is_in_turn_ = false, is_turn_over_ = false;
  std::size_t turn_ = 0;
  std::uint64_t instructions_ = 0, skipped_ns_ = 0;
};

}  // namespace rubato::chip
