// A core's registers, running task and point of execution, as the core sees them: it sets them when a context
// or a task begins, and changes them at an instruction that the execution model stopped at. The model
// (CoreModel) executes on the same parts between two stops.
//
// It knows neither threads nor tasks, but for the attempt and the timestamp of the one that runs.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "chip/config/config.hpp"
#include "chip/core/deferral_unit.hpp"
#include "chip/core/order_fault.hpp"
#include "chip/core/pipeline_counters.hpp"
#include "chip/core/pipeline_parts.hpp"
#include "chip/core/pipeline_state.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/isa/insn.hpp"
#include "chip/memory/fault.hpp"
#include "chip/speculation/attempt.hpp"
#include "chip/stats/cycle_account.hpp"
#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class CapsuleVector;

class Pipeline final {
 public:
  using Ports = PipelinePorts;
  Pipeline(CoreId core, const Config& config, const Ports& ports) : parts_(core, config, ports) {}
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// The parts that the execution model works with.
  PipelineParts& parts() { return parts_; }

  /// Before the first run(). Outlives the pipeline.
  void observe(InstructionObserver& observer) { parts_.state.ports.instructions = &observer; }
  /// To that observer, if there is one: the context that begins is this thread's.
  void show_thread(int tid) const {
    if (parts_.state.ports.instructions != nullptr)
      parts_.state.ports.instructions->on_thread(parts_.state.core, static_cast<std::uint32_t>(tid));
  }

  void inject(CapsuleFault fault, OrderFault order) {
    parts_.state.task.injected = fault;
    parts_.state.order_fault = order;
  }

  /// run() follows soon: software prefetch of the L1's set for the access that the core left for.
  void prefetch_run() const { parts_.state.prefetch_awaited(); }

  /// Another context begins at `at`, its registers set by the caller: no result pending, no reservation.
  void begin_context(Cycle at);
  /// From now on hits need marks (C15): lines of untracked pages in its L1 are marked as untracked (P30).
  void begin_marks() { parts_.lsu.port().begin_marks(); }
  /// A task begins, or goes on, speculative if it has an attempt. Marks in the L1 (which speculation needs)
  /// of an attempt later than this one are cleared (C15).
  void begin_task(Attempt* attempt, Timestamp timestamp);
  /// The task that began or went on last does not run any longer, nor has another begun.
  void leave_task() { parts_.state.task.is_task = false; }
  /// The speculative task ended, or goes on as a non-speculative one: nothing is recorded or logged any
  /// longer.
  void end_speculation();
  /// The speculative task is aborted, and the model has cancelled what it began. May be called from within a
  /// run, by an access that aborts its own task.
  void stop_task();
  /// The speculative task is aborted inside a capsule: its effects from now on are void, until it leaves the
  /// capsule (P37). May be called as stop_task() may.
  void doom();
  /// Writes all of a line outside guest memory; no instruction waits for the write. False: it must be tried
  /// again.
  bool store_record(LineAddr line);
  /// Returns lines of this core's logs, taken by an attempt that is committed or restored.
  void give_back_log(std::vector<LineAddr>& lines) { parts_.lsu.log().give_back(lines); }

  /// Dispatch knows where a task returns to and tells the return-address stack.
  void predict_return(Addr target) { parts_.predictor.call(target); }
  /// The next instruction issues at `at` or later; the cycles until then are charged to `part`.
  void resume_at(Cycle at, CyclePart part = CyclePart::core);
  /// The access that was blocked may be made at `at`. The wait is charged by the protocol's report on it, and
  /// else to the check that blocked it.
  void resume_blocked(Cycle at);

  /// Accesses that wait for messages.
  DeferralUnit& deferrals() { return parts_.lsu.deferrals(); }
  const DeferralUnit& deferrals() const { return parts_.lsu.deferrals(); }

  /// Waits for every outstanding access, of which none is deferred, charging the wait by its parts. @returns
  /// cycle(), advanced.
  Cycle drain();
  /// A write to one of these lines did not pass the caches: ends the reservation of such a line.
  void lose_reservation(LineAddr first, LineAddr last) { parts_.reservation.lose(first, last); }
  /// Goes on behind the instruction it stopped at, which has been executed.
  void skip_instruction();
  /// Performs the capsule call it stopped at, which the vector does not refuse. False: the memory system
  /// blocked it, and nothing has been done.
  bool enter_capsule(const CapsuleVector& vector, Latency cycles);
  /// Performs the `capsule.return` it stopped at, at a depth above 0.
  void leave_capsule();
  /// The instruction it stopped at has been executed.
  void count_instruction() {
    ++parts_.counters.instructions;
    parts_.state.show(parts_.stopped_at, parts_.stopped_pc, parts_.state.cycle, nullptr);
  }

  /// A host call was served, hart()'s pc and a0 changed. `returns`: to its caller, as the function would
  /// have.
  /// @returns true if that is the return that watch_return() waits for.
  bool end_host_call(bool returns);

  /// Writes the result of the instruction run() stopped at; `rd` as in Insn.
  void write_register(unsigned rd, std::uint64_t value) { parts_.state.hart.registers()[rd] = value; }

  /// To be changed but for the registers f.
  HartState& hart() { return parts_.state.hart; }
  const HartState& hart() const { return parts_.state.hart; }
  void set_hart(const HartState& state) { parts_.state.hart = state, parts_.state.has_floats = true; }
  /// The same as HartState{}. If a core's tasks use no floating point, its registers f are still zero. These
  /// are half of the state, so the host need not write them.
  HartState& clear_hart() {
    if (parts_.state.has_floats) parts_.state.hart.f.fill(0);
    parts_.state.has_floats = false;
    // Separate stores: compilers turn a loop into a string instruction, which is slower on the host.
    [&]<std::size_t... r>(std::index_sequence<r...>) {
      ((parts_.state.hart.x[r] = 0), ...);
    }(std::make_index_sequence<std::tuple_size_v<decltype(parts_.state.hart.x)>>());
    parts_.state.hart.pc = 0;
    parts_.state.hart.fcsr = 0;
    parts_.state.hart.capsule_depth = 0;
    parts_.state.hart.reservation = HartState::kNoReservation;
    return parts_.state.hart;
  }
  Cycle cycle() const { return parts_.state.cycle; }
  /// The instruction run() stopped at (ecall, task, fence_i).
  const isa::Insn& insn() const { return parts_.stopped_at; }
  /// The reason of the last PipelineStop::blocked.
  BlockReason blocked_by() const { return parts_.state.departure.blocked_by; }
  LineAddr blocked_line() const { return parts_.state.departure.blocked_line; }
  const Fault& fault() const { return parts_.state.departure.fault; }

  const MemoryRights& rights() const { return parts_.state.rights; }
  /// The contexts from now on are those of another process, with `memory` and the code `blocks`. Nothing is
  /// outstanding. Observers of accesses and the return that watch_return() waits for belong to the process
  /// that the core began with: they see the others only if `is_first`.
  void enter(AddressSpace& memory, isa::BlockCache& blocks, bool is_first);
  /// See MemoryRights::set_own_stack.
  void set_own_stack(Addr low, Addr high);

  /// The time in ns that the time counter shows in cycle 0: the time fast-forward took so far.
  void set_time_origin(std::uint64_t nanoseconds) { parts_.time_origin = nanoseconds; }
  /// run() stops behind the return to `pc` with stack pointer `sp`: the region of interest ends there.
  void watch_return(Addr pc, Addr sp) {
    watched_ = {pc, sp};
    if (is_first_) parts_.watch_pc = pc, parts_.watch_sp = sp;
  }

  /// Cycles that it waited for memory, to be taken.
  StallAccount& stalls() { return parts_.state.stalls; }

  const PipelineCounters& counters() const { return parts_.counters; }

 private:
  /// Execution continues somewhere else than where it left off.
  void forget_resume() { parts_.resume.forget(), parts_.state.is_refused = false; }
  /// A capsule call or return has been executed: the rights of fetches have changed.
  void change_context();

  PipelineParts parts_;
  bool is_first_ = true;
  std::pair<Addr, Addr> watched_{~Addr{0}, 0};
};

}  // namespace rubato::chip
