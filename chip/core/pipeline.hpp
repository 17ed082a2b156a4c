// The timed execution of one hart on an in-order, single-issue, scoreboarded core (chip.md section 1):
// executes decoded blocks, advancing the cycle at which the next instruction may issue.
//
//   issue       an instruction issues one cycle after the previous one, or when its operands are ready
//               (stall on use), whichever is later; its result is ready after its class's latency
//   load, store an L1 hit is pipelined, and made here; everything else is LoadStoreUnit's
//   strict      what others can see (misses, atomics, traps) happens only when the chip's clock is at its
//               cycle; the rest may run ahead by the look-ahead window (chip.md section 9)
//
// Its parts are Scoreboard, BranchPredictor, LoadReservation and LoadStoreUnit, which has parts of its own;
// what they share is PipelineState.
//
// The pipeline stops at an instruction that it cannot execute itself, until it is resumed; it knows neither
// threads nor tasks, but for the attempt and the timestamp of the one that runs. Instruction timing is
// described in docs/core-timing.md and tested there against hand-computed cycles.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "chip/config/config.hpp"
#include "chip/core/branch_predictor.hpp"
#include "chip/core/core_model.hpp"
#include "chip/core/deferral_unit.hpp"
#include "chip/core/latencies.hpp"
#include "chip/core/load_reservation.hpp"
#include "chip/core/load_store_unit.hpp"
#include "chip/core/pipeline_counters.hpp"
#include "chip/core/pipeline_state.hpp"
#include "chip/isa/block_cache.hpp"
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
  Pipeline(CoreId core, const Config& config, Ports ports);
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Executes until something stops it. `now` is the chip's clock; `next_other` the cycle of the earliest
  /// other pending event: nothing that others can see happens at or after it, unless at `now`.
  /// Stops soon after `pause_at`, which changes no result: run() then goes on from there. "Soon" is some
  /// thousand cycles where others have events by then.
  PipelineStop run(Cycle now, Cycle next_other, Cycle pause_at = kNever) {
    if (model_ != nullptr) return model_->run(now, next_other, pause_at);
    if (resume_stop_ != PipelineStop::resume && is_where_it_left()) {
      state_.window.begin(now, next_other, pause_at);
      return state_.departure.stop = state_.window.is_strict(state_.cycle.value)
                                         ? std::exchange(resume_stop_, PipelineStop::resume)
                                         : PipelineStop::resume;
    }
    return is_observed() ? execute<true>(now, next_other, pause_at)
                         : execute<false>(now, next_other, pause_at);
  }
  /// Before the first run(). Outlives the pipeline.
  void observe(InstructionObserver& observer) { state_.ports.instructions = &observer; }
  /// To that observer, if there is one: the context that begins is this thread's.
  void show_thread(int tid) const {
    if (state_.ports.instructions != nullptr)
      state_.ports.instructions->on_thread(state_.core, static_cast<std::uint32_t>(tid));
  }

  void inject(CapsuleFault fault) { state_.task.injected = fault; }

  /// run() follows soon: software prefetch of the L1's set for the access that the core left for.
  void prefetch_run() const { state_.prefetch_awaited(); }

  /// Another context begins at `at`, its registers set by the caller: no result pending, no reservation.
  void begin_context(Cycle at);
  /// From now on hits need marks (C15): lines of untracked pages in its L1 are marked as untracked (P30).
  void begin_marks() { lsu_.port().begin_marks(); }
  /// A task begins, or goes on, speculative if it has an attempt. Marks in the L1 (which speculation needs)
  /// of an attempt later than this one are cleared (C15).
  void begin_task(Attempt* attempt, Timestamp timestamp);
  /// The task that began or went on last does not run any longer, nor has another begun.
  void leave_task() { state_.task.is_task = false; }
  /// The speculative task ended, or goes on as a non-speculative one: nothing is recorded or logged any
  /// longer.
  void end_speculation();
  /// The speculative task is aborted. May be called from within run(), by an access that aborts its own task:
  /// run() then returns `blocked`.
  void stop_task();
  /// The speculative task is aborted inside a capsule: its effects from now on are void, until it leaves the
  /// capsule (P37). May be called as stop_task() may.
  void doom();
  /// Writes all of a line outside guest memory; no instruction waits for the write. False: it must be tried
  /// again.
  bool store_record(LineAddr line);
  /// Returns lines of this core's logs, taken by an attempt that is committed or restored.
  void give_back_log(std::vector<LineAddr>& lines) { lsu_.log().give_back(lines); }

  /// Dispatch knows where a task returns to and tells the return-address stack.
  void predict_return(Addr target) { predictor_.call(target); }
  /// The next instruction issues at `at` or later; the cycles until then are charged to `part`.
  void resume_at(Cycle at, CyclePart part = CyclePart::core);
  /// The access that was blocked may be made at `at`. The wait is charged by the protocol's report on it, and
  /// else to the check that blocked it.
  void resume_blocked(Cycle at);

  /// The model that executes in place of this pipeline (core.model), or null.
  CoreModel* model() { return model_.get(); }
  const CoreModel* model() const { return model_.get(); }

  /// Accesses that wait for messages.
  DeferralUnit& deferrals() { return lsu_.deferrals(); }
  const DeferralUnit& deferrals() const { return lsu_.deferrals(); }

  /// Waits for every outstanding access, of which none is deferred, charging the wait by its parts. @returns
  /// cycle(), advanced.
  Cycle drain();
  /// A write to one of these lines did not pass the caches: ends the reservation of such a line.
  void lose_reservation(LineAddr first, LineAddr last) { reservation_.lose(first, last); }
  /// Goes on behind the instruction it stopped at, which has been executed.
  void skip_instruction();
  /// Performs the capsule call it stopped at, which the vector does not refuse. False: the memory system
  /// blocked it, and nothing has been done.
  bool enter_capsule(const CapsuleVector& vector, Latency cycles);
  /// Performs the `capsule.return` it stopped at, at a depth above 0.
  void leave_capsule();
  /// The instruction it stopped at has been executed.
  void count_instruction() {
    ++counters_.instructions;
    state_.show(stopped_at_, stopped_pc_, state_.cycle, nullptr);
  }

  /// A host call was served, hart()'s pc and a0 changed. `returns`: to its caller, as the function would
  /// have.
  /// @returns true if that is the return that watch_return() waits for.
  bool end_host_call(bool returns);

  /// Writes the result of the instruction run() stopped at; `rd` as in Insn.
  void write_register(unsigned rd, std::uint64_t value) { state_.hart.registers()[rd] = value; }

  /// To be changed but for the registers f.
  HartState& hart() { return state_.hart; }
  const HartState& hart() const { return state_.hart; }
  void set_hart(const HartState& state) { state_.hart = state, state_.has_floats = true; }
  /// The same as HartState{}. If a core's tasks use no floating point, its registers f are still zero. These
  /// are half of the state, so the host need not write them.
  HartState& clear_hart() {
    if (state_.has_floats) state_.hart.f.fill(0);
    state_.has_floats = false;
    // Separate stores: compilers turn a loop into a string instruction, which is slower on the host.
    [&]<std::size_t... r>(std::index_sequence<r...>) {
      ((state_.hart.x[r] = 0), ...);
    }(std::make_index_sequence<std::tuple_size_v<decltype(state_.hart.x)>>());
    state_.hart.pc = 0;
    state_.hart.fcsr = 0;
    state_.hart.capsule_depth = 0;
    state_.hart.reservation = HartState::kNoReservation;
    return state_.hart;
  }
  Cycle cycle() const { return state_.cycle; }
  /// The instruction run() stopped at (ecall, task, fence_i).
  const isa::Insn& insn() const { return stopped_at_; }
  /// The reason of the last PipelineStop::blocked.
  BlockReason blocked_by() const { return state_.departure.blocked_by; }
  LineAddr blocked_line() const { return state_.departure.blocked_line; }
  const Fault& fault() const { return state_.departure.fault; }

  const MemoryRights& rights() const { return state_.rights; }
  /// See MemoryRights::set_own_stack.
  void set_own_stack(Addr low, Addr high);

  /// The time in ns that the time counter shows in cycle 0: the time fast-forward took so far.
  void set_time_origin(std::uint64_t nanoseconds) { time_origin_ = nanoseconds; }
  /// run() stops behind the return to `pc` with stack pointer `sp`: the region of interest ends there.
  void watch_return(Addr pc, Addr sp) { watch_pc_ = pc, watch_sp_ = sp; }

  /// Cycles that it waited for memory, to be taken.
  StallAccount& stalls() { return state_.stalls; }

  const PipelineCounters& counters() const { return counters_; }

 private:
  /// An observer sees the instructions that are executed now.
  bool is_observed() const {
    return state_.ports.instructions != nullptr ||
           (state_.ports.observer != nullptr && !state_.task.is_doomed);
  }

  template <bool is_observed>
  PipelineStop execute(Cycle now, Cycle next_other, Cycle pause_at);
  /// Execution continues somewhere else than where it left off.
  void forget_resume() {
    resume_block_ = nullptr, resume_stop_ = PipelineStop::resume, state_.is_refused = false;
  }
  /// Forgets blocks first that are not the code of now.
  bool is_where_it_left() {
    state_.ports.blocks.synchronize();
    return resume_pc_ == state_.hart.pc && resume_generation_ == state_.ports.blocks.generation();
  }
  bool fetch_slow(LineAddr line, std::uint64_t& issue);
  /// A capsule call or return has been executed: the rights of fetches have changed.
  void change_context();
  template <bool is_observed>
  std::uint64_t observed(std::uint64_t counter);
  std::uint64_t read_counter(unsigned number, std::uint64_t issue, std::uint64_t executed) const;

  // Members that a run reads first stand first, see EventHandler::kFirstUsed; the same holds in the state.
  isa::Block* resume_block_ = nullptr;  // where run() left off, while the pc is unchanged, or null
  const isa::Insn* resume_insn_ = nullptr;
  Addr resume_pc_ = 0;
  std::uint64_t resume_generation_ = 0;
  PipelineStop resume_stop_ =
      PipelineStop::resume;  // what that instruction will stop it for, if it is strict
  std::uint32_t mispredict_;
  LineAddr fetch_line_{~std::uint64_t{0}};
  Latencies latency_;
  PipelineCounters counters_;
  PipelineState state_;
  LoadReservation reservation_;
  LoadStoreUnit lsu_;
  BranchPredictor predictor_;
  isa::Insn stopped_at_{};
  Addr stopped_pc_{};  // where instructions are observed
  Addr watch_pc_ = ~Addr{0}, watch_sp_ = 0;
  std::uint64_t frequency_mhz_;
  std::uint64_t time_origin_ = 0;
  std::unique_ptr<CoreModel> model_;
};

}  // namespace rubato::chip
