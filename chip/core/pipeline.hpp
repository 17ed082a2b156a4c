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
#include <optional>
#include <utility>

#include "base/prefetch.hpp"
#include "chip/cache/l1_cache.hpp"
#include "chip/capsule/capsule_fault.hpp"
#include "chip/config/config.hpp"
#include "chip/conflict/access_recorder.hpp"
#include "chip/conflict/log_lines.hpp"
#include "chip/conflict/reservations.hpp"
#include "chip/core/access_buffer.hpp"
#include "chip/core/branch_predictor.hpp"
#include "chip/core/deferred_accesses.hpp"
#include "chip/core/execution_observer.hpp"
#include "chip/core/in_order_observer.hpp"
#include "chip/core/instruction_observer.hpp"
#include "chip/core/scoreboard.hpp"
#include "chip/core/stall_account.hpp"
#include "chip/isa/block_cache.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/isa/insn.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/memory/fault.hpp"
#include "chip/speculation/attempt.hpp"
#include "chip/stats/cycle_account.hpp"
#include "chip/time/timeline.hpp"
#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"
#include "chip/vocabulary/virtual_time.hpp"

namespace rubato::chip {

class CapsuleVector;

/// Why the pipeline stopped; hart().pc is at the instruction that could not be executed.
enum class PipelineStop : std::uint8_t {
  resume,    ///< call run() again when the clock is at cycle()
  blocked,   ///< the memory system blocked an access: resume_at() when woken
  deferred,  ///< it needs what a deferred access brings: resume_deferred() when one has performed
  ecall,
  task,       ///< a task instruction: insn() says which
  fence_i,    ///< decoded blocks are to be dropped; go on behind it
  fault,      ///< fault() says what
  host_call,  ///< at the entry of a function that the simulator serves: insn() says which
  returned,   ///< the function that watch_return() names returned
};

struct PipelineCounters {
  std::uint64_t instructions = 0, branches = 0, mispredicts = 0, loads = 0, stores = 0, atomics = 0;
};

class Pipeline final : private L1Recorder {
 public:
  struct Ports {
    AddressSpace& memory;
    isa::BlockCache& blocks;
    MemorySystem& memory_system;
    L1Cache& l1i;
    L1Cache& l1d;
    // Speculative tasks need what follows.
    const Timeline* timeline = nullptr;  ///< where the tasks that an access aborts leave their next events
    AccessRecorder* recorder = nullptr;
    Reservations* reservations = nullptr;  ///< of non-speculative tasks; null: only the L1 knows them
    LineAddr log_base{};          ///< undo logs of this core, behind everything that is loaded or stored
    std::uint64_t log_lines = 0;  ///< from log_base on
    ExecutionObserver* observer = nullptr;
    InstructionObserver* instructions = nullptr;
  };
  Pipeline(CoreId core, const Config& config, Ports ports);
  Pipeline(const Pipeline&) = delete;  // the L1 may know it
  Pipeline& operator=(const Pipeline&) = delete;

  /// Executes until something stops it. `now` is the chip's clock; `next_other` the cycle of the earliest
  /// other pending event: nothing that others can see happens at or after it, unless at `now`.
  /// Stops soon after `pause_at`, which changes no result: run() then goes on from there. "Soon" is some
  /// thousand cycles where others have events by then.
  PipelineStop run(Cycle now, Cycle next_other, Cycle pause_at = kNever) {
    if (resume_stop_ != PipelineStop::resume && is_where_it_left()) {
      set_ends(now, next_other, pause_at);
      stop_ =
          is_strict(cycle_.value) ? std::exchange(resume_stop_, PipelineStop::resume) : PipelineStop::resume;
      return stop_;
    }
    return is_observed() ? execute<true>(now, next_other, pause_at)
                         : execute<false>(now, next_other, pause_at);
  }
  /// Before the first run(). Outlives the pipeline.
  void observe(InstructionObserver& observer) { ports_.instructions = &observer; }
  /// To that observer, if there is one: the context that begins is this thread's.
  void show_thread(int tid) const {
    if (ports_.instructions != nullptr)
      ports_.instructions->on_thread(core_, static_cast<std::uint32_t>(tid));
  }

  void inject(CapsuleFault fault) { capsule_fault_ = fault; }

  /// run() follows soon: asks the host for the L1's set that the access it left for will look at.
  void prefetch_run() const { ports_.l1d.prefetch(awaited_set_); }

  /// Another context begins at `at`, its registers set by the caller: no result pending, no reservation.
  void begin_context(Cycle at);
  /// From now on hits need marks (C15): what its L1 holds of untracked pages is marked as that (P30).
  void begin_marks();
  /// A task begins, or goes on, speculative if it has an attempt. Marks in the L1 (which speculation needs)
  /// of an attempt later than this one are cleared (C15).
  void begin_task(Attempt* attempt, Timestamp timestamp);
  /// The task that began or went on last does not run any longer, nor has another begun.
  void leave_task() { is_in_task_ = false; }
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
  void lose_reservation(LineAddr first, LineAddr last);
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
    if (ports_.instructions != nullptr) [[unlikely]]
      show(stopped_at_, stopped_pc_, cycle_, nullptr);
  }

  /// A host call was served, hart()'s pc and a0 changed. `returns`: to its caller, as the function would
  /// have.
  /// @returns true if that is the return that watch_return() waits for.
  bool end_host_call(bool returns);

  /// Writes the result of the instruction run() stopped at; `rd` as in Insn.
  void write_register(unsigned rd, std::uint64_t value) { hart_.registers()[rd] = value; }

  /// To be changed but for the registers f.
  HartState& hart() { return hart_; }
  const HartState& hart() const { return hart_; }
  void set_hart(const HartState& state) { hart_ = state, has_floats_ = true; }
  /// As HartState{}. Of a core whose tasks do not compute in floating point the registers f, half of what the
  /// host would have to write, are still zero.
  HartState& clear_hart() {
    if (has_floats_) hart_.f.fill(0);
    has_floats_ = false;
    // One store after another: compilers make a loop a string instruction, which takes the host longer.
    [&]<std::size_t... r>(std::index_sequence<r...>) {
      ((hart_.x[r] = 0), ...);
    }(std::make_index_sequence<std::tuple_size_v<decltype(hart_.x)>>());
    hart_.pc = 0;
    hart_.fcsr = 0;
    hart_.capsule_depth = 0;
    hart_.reservation = HartState::kNoReservation;
    return hart_;
  }
  Cycle cycle() const { return cycle_; }
  /// The instruction run() stopped at (ecall, task, fence_i).
  const isa::Insn& insn() const { return stopped_at_; }
  /// Of the last PipelineStop::blocked.
  BlockReason blocked_by() const { return blocked_by_; }
  LineAddr blocked_line() const { return blocked_line_; }
  const Fault& fault() const { return fault_; }

  bool is_in_untracked_page(Addr address) const {
    return (ports_.memory.attributes(address) & Page::kUntracked) != 0;
  }

  /// This core's own worker stack, [low, high): the only pages marked Page::kWorkerStack it may touch (C7).
  void set_own_stack(Addr low, Addr high);
  std::pair<Addr, Addr> own_stack() const { return {stack_low_, stack_high_}; }

  /// What the time counter (ns) shows in cycle 0: the time that fast-forward took so far.
  void set_time_origin(std::uint64_t nanoseconds) { time_origin_ = nanoseconds; }
  /// run() stops behind the return to `pc` with stack pointer `sp`: the region of interest ends there.
  void watch_return(Addr pc, Addr sp) { watch_pc_ = pc, watch_sp_ = sp; }

  /// Cycles that it waited for memory, to be taken.
  StallAccount& stalls() { return stalls_; }

  const PipelineCounters& counters() const { return counters_; }

 private:
  static constexpr std::uint64_t kUnknown = Scoreboard::kUnknown;
  using Source = ResultSource;
  using Slot = IssueSlot;

  /// Somebody looks at what is executed now.
  bool is_observed() const {
    return ports_.instructions != nullptr || (ports_.observer != nullptr && !is_doomed_);
  }
  /// To the observer of instructions; `address`: of its access, if it made one.
  void show(const isa::Insn& insn, Addr pc, Cycle issued, const Addr* address);

  template <bool is_observed>
  PipelineStop execute(Cycle now, Cycle next_other, Cycle pause_at);
  void set_ends(Cycle now, Cycle next_other, Cycle pause_at);
  /// It goes on somewhere else than where it left off.
  void forget_resume() { resume_block_ = nullptr, resume_stop_ = PipelineStop::resume, is_refused_ = false; }
  /// Forgets blocks first that are not the code of now.
  bool is_where_it_left() {
    ports_.blocks.synchronize();
    return resume_pc_ == hart_.pc && resume_generation_ == ports_.blocks.generation();
  }
  /// An access must let others go first; `is_refused`: the L1 was asked for it and refused.
  bool leave_for_access(LineAddr line, Addr address, bool is_refused);
  // Slow paths: everything but an undisturbed L1 hit. False: the pipeline leaves with stop_, nothing done.
  // `missed`: the L1 was asked for the access a moment ago and refused it.
  bool load_slow(Addr address, unsigned bytes, Slot& slot, bool missed);
  void wait_for_fill(LineAddr line, Addr word, Slot& slot);
  // pipeline_deferred.cpp: of an access that skips_, how it is to be performed.
  enum class Deferral : std::uint8_t { none, first, behind, forwarded };
  enum class Behind : std::uint8_t { nothing, taken, leaves };
  /// What a speculative task does in a capsule, aborted or not, is done at once.
  bool may_defer() const { return !is_doomed_ && (attempt_ == nullptr || hart_.capsule_depth == 0); }
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
  /// Every access to the memory system goes through here. Not done: the pipeline leaves with stop_.
  AccessResult access_memory(LineAddr line, AccessKind kind, std::uint64_t issue);
  /// Nothing of the line is versioned or checked (C7). A line that only begins or ends in the stack is.
  bool is_untracked(LineAddr line) const { return is_own_stack(line) || is_in_untracked_page(addr_of(line)); }
  bool is_own_stack(LineAddr line) const {
    return addr_of(line) >= stack_low_ && addr_of(line) + kLineBytes <= stack_high_;
  }
  // Capsules: pipeline_capsule.cpp.
  void mark_unchecked(LineAddr line);
  void update_rights();
  /// Speculative code outside capsules touches untracked memory (P29).
  bool lacks_rights(Addr address, unsigned bytes) const {
    return attempt_ != nullptr && hart_.capsule_depth == 0 && is_forbidden(address, bytes);
  }
  bool is_forbidden(Addr address, unsigned bytes) const;
  /// A doomed run's access to tracked memory that must not be performed: of a store, always (P37).
  bool drops(Addr address) const {
    return is_doomed_ && !is_untracked(line_of(address)) &&
           capsule_fault_ != CapsuleFault::doomed_store_performed;
  }
  /// An access without the right to it: a fault; a doomed run does without it.
  bool refuse(FaultKind kind, Addr address);
  // Of lr and sc; the address is hart_.reservation.
  void reserve(LineAddr line);
  bool has_reservation(LineAddr line) const;
  void end_reservation();
  bool is_logged(Addr word) const { return !is_untracked(line_of(word)); }
  /// Before a speculative store accesses its own line, lest it wait for one of the log with that in hand.
  bool make_log_room(Addr address, unsigned bytes, Slot& slot);
  /// Logs what a speculative store of `bytes` at `address` is about to overwrite.
  void log_store(Addr address, unsigned bytes);
  bool take_log_line(Slot& slot);
  void on_first_use(LineAddr line, bool write) override;
  bool is_foreign_stack(Addr address, unsigned bytes) const;
  bool refuse_foreign_stack(Addr address);
  /// A capsule call or return has been executed: the rights of fetches have changed.
  void change_context();
  bool leave(PipelineStop stop);
  bool leave_with_fault(FaultKind kind, Addr address);
  bool is_strict(std::uint64_t issue) const { return issue < strict_end_; }
  void drain_buffer(AccessBuffer& buffer, std::uint64_t& issue);
  template <bool is_observed>
  std::uint64_t observed(std::uint64_t counter);
  std::uint64_t read_counter(unsigned number, std::uint64_t issue, std::uint64_t executed) const;

  Cycle cycle_{};
  std::uint64_t fills_until_ = 0;                           // every outstanding fill is done
  std::uint64_t clock_ = 0, strict_end_ = 0, run_end_ = 0;  // of run()
  isa::Block* resume_block_ = nullptr;  // where run() left off, while hart_.pc is unchanged, or null
  const isa::Insn* resume_insn_ = nullptr;
  Addr resume_pc_ = 0;
  std::uint64_t resume_generation_ = 0;
  std::uint32_t awaited_set_ = 0;  // its first slot in the L1: see prefetch_run()
  PipelineStop resume_stop_ =
      PipelineStop::resume;  // what that instruction will stop it for, if it is strict
  bool is_refused_ = false;  // the L1 refused what that instruction accesses, and will do so again
  bool is_in_task_ = false;
  bool has_floats_ = false;  // registers f need not be zero
  Timestamp timestamp_ = 0;  // of the task
  LineAddr fetch_line_{~std::uint64_t{0}};
  Attempt* attempt_ = nullptr;  // of the speculative task it runs
  Ports ports_;
  std::uint32_t mispredict_, l1_latency_, lookahead_;
  bool forwards_;  // conflict.forwarding: else marks cover no use of what an earlier task of the core wrote
  bool is_doomed_ = false;  // runs on in a capsule for nothing
  CapsuleFault capsule_fault_ = CapsuleFault::none;
  bool skips_ = false;  // a slow path's answer: it is as if the access had been performed
  bool defers_;         // core.defers: accesses that messages have yet to bring
  bool is_deferral_blocked_ = false;
  bool is_deferral_fault_ = false;
  Deferral deferral_ = Deferral::none;
  BlockReason blocked_by_ = BlockReason::none;
  LineAddr blocked_line_{};
  bool is_stopped_ = false;  // its task was aborted by the access it is making
  PipelineStop stop_ = PipelineStop::resume;
  CoreId core_;
  PipelineCounters counters_;
  HartState hart_;
  std::array<std::uint16_t, isa::kInsnClassCount> latency_{};
  StallAccount stalls_;
  Scoreboard scoreboard_{stalls_};
  AccessBuffer loads_, stores_;
  DeferredAccesses deferred_;
  std::optional<InOrderObserver> in_order_;  // what ports_.observer is, if it is something
  std::uint64_t forwarded_ = 0;              // by a deferred store
  AccessParts performed_parts_{};            // of the deferred access that performed last
  AccessParts access_parts_{};               // of the last slow access
  BranchPredictor predictor_;
  isa::Insn stopped_at_{};
  Addr stopped_pc_{};  // where instructions are observed
  Fault fault_;
  Addr watch_pc_ = ~Addr{0}, watch_sp_ = 0;
  Addr stack_low_ = 0, stack_high_ = 0;
  std::uint64_t frequency_mhz_;
  std::uint64_t time_origin_ = 0;
  VirtualTime last_{};  // of the last speculative task: what the L1's marks for those are good for
  LogLines log_;
};

}  // namespace rubato::chip
