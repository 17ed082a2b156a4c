// The timed execution of one hart on an in-order, single-issue, scoreboarded core (chip.md section 1):
// executes decoded blocks, advancing the cycle at which the next instruction may issue.
//
//   issue       an instruction issues one cycle after the previous one, or when its operands are ready
//               (stall on use), whichever is later; its result is ready after its class's latency
//   load, store an L1 hit is pipelined; a miss occupies a load- or store-buffer entry until it is done.
//               One that messages have yet to bring is deferred: it performs when the line is there (K11)
//   strict      what others can see (misses, atomics, traps) happens only when the chip's clock is at its
//               cycle; the rest may run ahead by the look-ahead window (chip.md section 9)
//   speculative task: the lines it uses are recorded, each store first appends what it overwrites to the undo
//               log, in the attempt and in simulated memory (C14); own stack and untracked pages need neither
//
// The pipeline stops at whatever it cannot do itself and is told to go on; it knows neither threads nor
// tasks, but for the attempt and the timestamp of the one that runs. Instruction timing is described in
// docs/core-timing.md and tested there against hand-computed cycles.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/prefetch.hpp"
#include "chip/cache/l1_cache.hpp"
#include "chip/config/config.hpp"
#include "chip/conflict/log_lines.hpp"
#include "chip/core/access_buffer.hpp"
#include "chip/core/branch_predictor.hpp"
#include "chip/core/deferred_accesses.hpp"
#include "chip/core/load_reservation.hpp"
#include "chip/core/pipeline_state.hpp"
#include "chip/isa/block_cache.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/isa/insn.hpp"
#include "chip/memory/fault.hpp"
#include "chip/speculation/attempt.hpp"
#include "chip/stats/cycle_account.hpp"
#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"
#include "chip/vocabulary/virtual_time.hpp"

namespace rubato::chip {

class CapsuleVector;

struct PipelineCounters {
  std::uint64_t instructions = 0, branches = 0, mispredicts = 0, loads = 0, stores = 0, atomics = 0;
};

class Pipeline final : private L1Recorder {
 public:
  using Ports = PipelinePorts;
  Pipeline(CoreId core, const Config& config, Ports ports);
  Pipeline(const Pipeline&) = delete;  // the L1 may know it
  Pipeline& operator=(const Pipeline&) = delete;

  /// Executes until something stops it. `now` is the chip's clock; `next_other` the cycle of the earliest
  /// other pending event: nothing that others can see happens at or after it, unless at `now`.
  /// Stops soon after `pause_at`, which changes no result: run() then goes on from there. "Soon" is some
  /// thousand cycles where others have events by then.
  PipelineStop run(Cycle now, Cycle next_other, Cycle pause_at = kNever) {
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

  /// run() follows soon: asks the host for the L1's set that the access it left for will look at.
  void prefetch_run() const { state_.ports.l1d.prefetch(awaited_set_); }

  /// Another context begins at `at`, its registers set by the caller: no result pending, no reservation.
  void begin_context(Cycle at);
  /// From now on hits need marks (C15): what its L1 holds of untracked pages is marked as that (P30).
  void begin_marks();
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
  /// The speculative task is aborted inside a capsule: what it does from now on is for nothing, until it
  /// leaves the capsule (P37). May be called as stop_task() may.
  void doom();
  /// Writes all of a line that is no guest's, which nobody waits for. False: it must be tried again.
  bool store_record(LineAddr line);
  /// The log of an attempt of this core, committed or restored, is not needed any longer.
  void give_back_log(Attempt& attempt) { log_.give_back(attempt.log_lines); }

  /// Dispatch knows where a task returns to and tells the return-address stack.
  void predict_return(Addr target) { predictor_.call(target); }
  /// The next instruction issues at `at` or later; the cycles until then are charged to `part`.
  void resume_at(Cycle at, CyclePart part = CyclePart::core);
  /// The access that was blocked may be made at `at`; the wait is charged to what the protocol says of it,
  /// and else to the check that blocked it.
  void resume_blocked(Cycle at);

  // Deferred accesses: pipeline_deferred.cpp.
  bool has_deferred() const { return deferred_.any(); }
  /// Messages have brought `line`, or the right to it. False: no deferred access waits for it.
  bool note_ready(LineAddr line);
  /// Performs deferred accesses of `line`, in order, up to one that is blocked.
  void perform(LineAddr line, Cycle now);
  /// perform() met a conflict that is undecided: perform_blocked() when woken.
  bool is_deferral_blocked() const { return is_deferral_blocked_; }
  /// perform() met a page that has lost its rights since the access was deferred: fault() says where. The
  /// access is gone.
  bool take_deferral_fault() { return std::exchange(is_deferral_fault_, false); }
  void perform_blocked(Cycle now);
  /// Those of [begin, end) perform before something becomes of the memory, or of this core, that does not
  /// wait for messages (K14). What these bring later is not used. A speculative task's are left: they find
  /// what there is then.
  void perform_at_once(Addr begin, Addr end, Cycle now);
  /// The wait until `at` is charged to the access that performed last.
  void resume_deferred(Cycle at);

  /// Waits for every outstanding access, of which none is deferred, charging the wait by its parts. @returns
  /// cycle(), advanced.
  Cycle drain();
  /// Somebody else wrote to one of these lines, not by way of the caches.
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
  /// As HartState{}. Of a core whose tasks do not compute in floating point the registers f, half of what the
  /// host would have to write, are still zero.
  HartState& clear_hart() {
    if (state_.has_floats) state_.hart.f.fill(0);
    state_.has_floats = false;
    // One store after another: compilers make a loop a string instruction, which takes the host longer.
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
  /// Of the last PipelineStop::blocked.
  BlockReason blocked_by() const { return state_.departure.blocked_by; }
  LineAddr blocked_line() const { return state_.departure.blocked_line; }
  const Fault& fault() const { return state_.departure.fault; }

  const MemoryRights& rights() const { return state_.rights; }
  /// See MemoryRights::set_own_stack.
  void set_own_stack(Addr low, Addr high);

  /// What the time counter (ns) shows in cycle 0: the time that fast-forward took so far.
  void set_time_origin(std::uint64_t nanoseconds) { time_origin_ = nanoseconds; }
  /// run() stops behind the return to `pc` with stack pointer `sp`: the region of interest ends there.
  void watch_return(Addr pc, Addr sp) { watch_pc_ = pc, watch_sp_ = sp; }

  /// Cycles that it waited for memory, to be taken.
  StallAccount& stalls() { return state_.stalls; }

  const PipelineCounters& counters() const { return counters_; }

 private:
  static constexpr std::uint64_t kUnknown = Scoreboard::kUnknown;
  using Source = ResultSource;
  using Slot = IssueSlot;

  /// Somebody looks at what is executed now.
  bool is_observed() const {
    return state_.ports.instructions != nullptr ||
           (state_.ports.observer != nullptr && !state_.task.is_doomed);
  }

  template <bool is_observed>
  PipelineStop execute(Cycle now, Cycle next_other, Cycle pause_at);
  /// It goes on somewhere else than where it left off.
  void forget_resume() { resume_block_ = nullptr, resume_stop_ = PipelineStop::resume, is_refused_ = false; }
  /// Forgets blocks first that are not the code of now.
  bool is_where_it_left() {
    state_.ports.blocks.synchronize();
    return resume_pc_ == state_.hart.pc && resume_generation_ == state_.ports.blocks.generation();
  }
  /// An access must let others go first; `is_refused`: the L1 was asked for it and refused.
  bool leave_for_access(LineAddr line, Addr address, bool is_refused);
  // Slow paths: everything but an undisturbed L1 hit. False: the pipeline leaves, nothing done. `missed`: the
  // L1 was asked for the access a moment ago and refused it.
  bool load_slow(Addr address, unsigned bytes, Slot& slot, bool missed);
  void wait_for_fill(LineAddr line, Addr word, Slot& slot);
  // pipeline_deferred.cpp: of an access that skips_, how it is to be performed.
  enum class Deferral : std::uint8_t { none, first, behind, forwarded };
  enum class Behind : std::uint8_t { nothing, taken, leaves };
  /// What a speculative task does in a capsule, aborted or not, is done at once.
  bool may_defer() const {
    return !state_.task.is_doomed && (state_.task.attempt == nullptr || state_.hart.capsule_depth == 0);
  }
  /// Of an access while some are deferred: those of its line come first, and their stores may serve it.
  Behind look_at_deferred(Addr address, unsigned bytes, bool write, Slot& slot);
  /// The memory system blocked an access: true if the core can go on without.
  bool defer(LineAddr first, LineAddr last, AccessBuffer& buffer);
  void end_deferral(const isa::Insn& insn, Addr pc, Slot& slot);
  void give_value(const DeferredAccess& access, std::uint64_t ready, const AccessParts& parts);
  void settle_deferred();
  void cancel_deferred();
  void drop_deferred(const DeferredAccess& access);
  std::size_t log_entries_of(Addr address, unsigned bytes) const;
  std::size_t log_entries_of_deferred() const;
  bool fence(std::uint64_t& issue);
  bool store_slow(Addr address, unsigned bytes, Slot& slot);
  bool atomic_slow(Addr address, unsigned bytes, unsigned flags, AccessKind kind, Slot& slot);
  bool fetch_slow(LineAddr line, std::uint64_t& issue);
  /// An access to two lines takes one entry of `buffer`, and `has_entry` with the second: if it had to wait
  /// in between, it would begin anew, and others, or its own second line, could take the first one time and
  /// again.
  bool access_line(LineAddr line, Addr word, AccessKind kind, AccessBuffer& buffer, Slot& slot,
                   bool has_entry = false);
  /// Asks the L1 (again, if it has not `missed` just now), which does not know yet what is untracked in it.
  bool hits(LineAddr line, bool write, bool missed = false);
  /// `issue` of an access that must wait for an entry of `buffer` advances to when there is one; it may go on
  /// if it is strict then.
  bool wait_for_entry(AccessBuffer& buffer, std::uint64_t& issue);
  /// Every access to the memory system goes through here. Not done: the pipeline leaves.
  AccessResult access_memory(LineAddr line, AccessKind kind, std::uint64_t issue);
  // Capsules: pipeline_capsule.cpp.
  void mark_unchecked(LineAddr line);
  void update_rights();
  /// An access without the right to it: a fault; a doomed run does without it.
  bool refuse(FaultKind kind, Addr address);
  bool is_logged(Addr word) const { return !state_.rights.is_untracked(line_of(word)); }
  /// Before a speculative store accesses its own line, lest it wait for one of the log with that in hand.
  bool make_log_room(Addr address, unsigned bytes, Slot& slot);
  /// Logs what a speculative store of `bytes` at `address` is about to overwrite.
  void log_store(Addr address, unsigned bytes);
  bool take_log_line(Slot& slot);
  void on_first_use(LineAddr line, bool write) override;
  bool refuse_foreign_stack(Addr address);
  /// A capsule call or return has been executed: the rights of fetches have changed.
  void change_context();
  bool leave(PipelineStop stop) { return state_.departure.leave(stop); }
  bool leave_with_fault(FaultKind kind, Addr address) {
    return state_.departure.leave_with_fault(kind, address);
  }
  bool is_strict(std::uint64_t issue) const { return state_.window.is_strict(issue); }
  void drain_buffer(AccessBuffer& buffer, std::uint64_t& issue);
  template <bool is_observed>
  std::uint64_t observed(std::uint64_t counter);
  std::uint64_t read_counter(unsigned number, std::uint64_t issue, std::uint64_t executed) const;

  // What a run reads first stands first, see EventHandler::kFirstUsed; so it does in the state.
  std::uint64_t fills_until_ = 0;       // every outstanding fill is done
  isa::Block* resume_block_ = nullptr;  // where run() left off, while the pc is unchanged, or null
  const isa::Insn* resume_insn_ = nullptr;
  Addr resume_pc_ = 0;
  std::uint64_t resume_generation_ = 0;
  std::uint32_t awaited_set_ = 0;  // its first slot in the L1: see prefetch_run()
  PipelineStop resume_stop_ =
      PipelineStop::resume;  // what that instruction will stop it for, if it is strict
  bool is_refused_ = false;  // the L1 refused what that instruction accesses, and will do so again
  LineAddr fetch_line_{~std::uint64_t{0}};
  PipelineState state_;
  LoadReservation reservation_;
  std::uint32_t mispredict_, l1_latency_;
  bool forwards_;  // conflict.forwarding: else marks cover no use of what an earlier task of the core wrote
  bool skips_ = false;  // a slow path's answer: it is as if the access had been performed
  bool defers_;         // core.defers: accesses that messages have yet to bring
  bool is_deferral_blocked_ = false;
  bool is_deferral_fault_ = false;
  Deferral deferral_ = Deferral::none;
  bool is_stopped_ = false;  // its task was aborted by the access it is making
  PipelineCounters counters_;
  std::array<std::uint16_t, isa::kInsnClassCount> latency_{};
  AccessBuffer loads_, stores_;
  DeferredAccesses deferred_;
  std::uint64_t forwarded_ = 0;    // by a deferred store
  AccessParts performed_parts_{};  // of the deferred access that performed last
  AccessParts access_parts_{};     // of the last slow access
  BranchPredictor predictor_;
  isa::Insn stopped_at_{};
  Addr stopped_pc_{};  // where instructions are observed
  Addr watch_pc_ = ~Addr{0}, watch_sp_ = 0;
  std::uint64_t frequency_mhz_;
  std::uint64_t time_origin_ = 0;
  VirtualTime last_{};  // of the last speculative task: what the L1's marks for those are good for
  LogLines log_;
};

}  // namespace rubato::chip
