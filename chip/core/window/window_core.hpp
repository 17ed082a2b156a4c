// A core with a window (K65). Instructions are dispatched in order into a reorder buffer, `core.width` a
// cycle, issue as operands and ports allow, and commit in order. No wrong path is executed, and the stores
// that a load reads are known without a prediction.
// - Value: an instruction is executed when it is dispatched, on registers and memory as they then are, with
//   its own older stores over them (K66). A load that cannot perform yet goes on with the value that it saw.
//   When it performs, the value is read again. If the value differs, all instructions behind the load are
//   squashed and done anew. Stores reach memory when they have committed and their line is there.
// - Time is computed, not stepped through (K68). Issue is the first cycle with a port, from dispatch + 1 and
//   all operands on; complete = issue + latency; commit is in order. An instruction that depends on a load
//   with an unknown end is resolved when that end is known. So only interactions with the memory system are
//   events.
// - Alone: fences, atomics, lr, sc, CSRs, calls, faults and accesses to two lines wait until all instructions
//   before them have committed. Instructions that order memory also wait for the store queue (K67).
//
// Invariants: instructions before the head have performed, and are final. An entry leaves at the head as soon
// as its completion time is known. Therefore all instructions that may be squashed are behind a load that has
// not performed. A speculative task's access is checked and recorded when it performs (C15), and its store is
// logged when it is written (C14). docs/window-core.md.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <queue>
#include <string>
#include <vector>

#include "chip/config/config.hpp"
#include "chip/core/core_model.hpp"
#include "chip/core/latencies.hpp"
#include "chip/core/pipeline_parts.hpp"
#include "chip/core/window/commit_times.hpp"
#include "chip/core/window/issue_ports.hpp"
#include "chip/core/window/reorder_buffer.hpp"
#include "chip/core/window/store_queue.hpp"
#include "chip/core/window/task_accesses.hpp"
#include "chip/core/window/window_fault.hpp"
#include "chip/core/window/window_stats.hpp"
#include "chip/isa/block_cache.hpp"
#include "chip/isa/insn.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class WindowCore final : public CoreModel {
 public:
  WindowCore(const Config& config, PipelineParts& parts);

  PipelineStop run(Cycle now, Cycle next_other, Cycle pause_at) override;
  Leaving begin_leaving() override;
  bool note_ready(LineAddr line) override;
  bool perform(LineAddr line, Cycle now) override;
  bool perform_blocked(Cycle now) override;
  void cancel(Cycle at) override;
  bool is_blocked() const override { return is_blocked_; }
  bool perform_at_once(Addr begin, Addr end, Cycle now) override;
  void flush(Cycle now) override;
  void register_stats(StatRegistry& registry, const std::string& prefix) const override {
    stats_.register_stats(registry, prefix + "window.");
  }

  void inject(WindowFault fault) { fault_ = fault; }
  const WindowStats& stats() const { return stats_; }

 private:
  static constexpr std::uint64_t kUnknown = WindowEntry::kUnknown;
  static constexpr LineAddr kNoLine{~std::uint64_t{0}};

  /// The reason why nothing is dispatched.
  /// - room: the buffer, or a queue, is full until an unknown time.
  /// - older: an instruction goes alone.
  /// - line: messages bring a line that a fetch or a lone access needs.
  enum class Stall : std::uint8_t { none, room, older, branch, line };
  /// Something of the core's own that waits for its cycle.
  struct Action {
    std::uint64_t at, stamp;
    std::uint64_t position;                  // of a load; of a store 0
    bool operator<(const Action& o) const {  // std::priority_queue is a max-heap
      return at != o.at ? at > o.at : stamp > o.stamp;
    }
  };

  /// Instructions or stores are under way.
  bool is_busy() const { return !buffer_.is_empty() || !stores_.empty(); }

  /// The body of run(), until its task is aborted by an access of its own.
  PipelineStop run_on(Cycle now, Cycle next_other, Cycle pause_at);
  void perform_line(LineAddr line, Cycle now);
  /// Nothing is under way any longer.
  void discard();
  /// discard() is due: the task was aborted within this call.
  void end_call() {
    is_called_ = false;
    if (is_cancelled_) discard();
  }

  // ---- window_dispatch.cpp ----
  /// Dispatches until `limit_`, or until it stalls or stops. @returns `resume` in the former cases.
  PipelineStop dispatch();
  std::uint64_t read_counter(unsigned number) const;

  // ---- Dispatch ----
  std::uint64_t dispatch_end() const {
    return needs_strict_ ? state_.window.strict_end() : state_.window.run_end();
  }
  bool can_dispatch() const { return stall_ == Stall::none && !is_stopping_; }
  void go_to(std::uint64_t cycle) {
    if (cycle <= cycle_) return;
    cycle_ = cycle;
    slots_ = 0;
  }
  /// There is room for the instruction at cycle_, which may have moved. False: stalled.
  bool make_room(const isa::Insn& insn);
  bool make_store_room();
  /// All before has committed (and with `stores` is in memory) at cycle_, which may have moved, and the clock
  /// is there. False: stalled, or not yet.
  bool is_alone(bool stores);
  bool fetch(LineAddr line);
  /// The memory system, or the load-store unit, has refused the present instruction.
  PipelineStop left();
  WindowEntry& add(const isa::Insn& insn, Addr pc, std::uint64_t old_value);
  /// Schedules a dispatched entry, complete but for a load's value and a store's bytes: finds when it issues,
  /// or lists it as waiting for operands.
  void schedule(WindowEntry& e);
  /// Fast path with an empty buffer: an instruction that completes and commits at known times needs no entry.
  /// issue_now() books a port and returns the time of issue. The result is there at `complete`.
  std::uint64_t issue_now(const isa::Insn& insn);
  std::uint64_t operands_now(const isa::Insn& insn) const {
    return std::max({cycle_ + 1, ready_[insn.rs1], ready_[insn.rs2], ready_[insn.rs3]});
  }
  void pass(const isa::Insn& insn, std::uint64_t complete);
  bool passes() const {
    return buffer_.is_empty() && state_.ports.instructions == nullptr && state_.ports.observer == nullptr;
  }
  /// A load that hits now. False: it needs an entry.
  bool pass_load(const isa::Insn& insn, Addr address);
  bool pass_store(const isa::Insn& insn, Addr address, std::uint64_t value);
  void list(WindowEntry& e);
  void finish_load(WindowEntry& e, Addr address);
  /// The load waits for the youngest older store to some of its bytes, as far as that is still on its way.
  void order_behind_store(WindowEntry& e, std::uint64_t position);
  void finish_store(WindowEntry& e, Addr address, std::uint64_t value);
  /// The instruction went alone, and the slot says when it is complete.
  void finish_alone(WindowEntry& e, const IssueSlot& slot);
  /// No instruction is dispatched behind a mispredicted jump until the misprediction is known.
  void finish_jump(const WindowEntry& e);
  /// The value that a load of the instruction at `position` finds, zero-extended.
  std::uint64_t seen(Addr address, unsigned bytes, std::uint64_t position) const;

  // ---- Time ----
  /// When the operands of `e` are all there, or kUnknown.
  std::uint64_t operands_of(const WindowEntry& e) const;
  void settle(WindowEntry& e, std::uint64_t position, std::uint64_t complete);
  /// Goes through the entries that wait for unknown times: one of these has become known.
  void resolve();
  void retire();
  void commit(std::uint64_t position, std::uint64_t at, std::uint64_t dispatched) {
    commits_.commit(position, at);
    stats_.entry(at - dispatched);
    ++parts_.counters.instructions;
  }
  void observe(const WindowEntry& e);
  /// To the observer of execution, if there is one: an instruction that goes alone, or commits.
  template <class... What>
  void report(void (ExecutionObserver::*event)(CoreId, What...), What... what) const {
    if (state_.ports.observer != nullptr && !state_.task.is_doomed) [[unlikely]]
      (state_.ports.observer->*event)(state_.core, what...);
  }
  void report_access(const WindowEntry& e) const;
  void push(const Action& action);
  void act(const Action& action);

  // ---- Accesses ----
  /// Performs the load, whose cycle `at` is, if it can; otherwise its entry notes the reason to wait. Only a
  /// due load may leave the L1.
  void try_load(std::uint64_t position, std::uint64_t at, bool is_due);
  const WindowEntry* older_load_of(const WindowEntry& e, std::uint64_t position, std::uint64_t& found) const;
  std::uint64_t after_fill(WindowEntry& e, LineAddr line, std::uint64_t at);
  /// When the L1 has a store that hits at `at`: not before its line.
  std::uint64_t store_end(LineAddr line, std::uint64_t at) const {
    return at < state_.fills_until ? buffers_.done_with(line, at) : at;
  }
  void end_load(std::uint64_t position, std::uint64_t complete);
  void set_value(WindowEntry& e, std::uint64_t value) {
    e.value = value;
    state_.hart.registers()[e.insn.rd] = value;
  }
  void try_store(std::size_t index, std::uint64_t at, bool is_due);
  /// An access to the L1 or beyond, which refused it a moment ago as a hit.
  AccessResult access(LineAddr line, AccessKind kind, std::uint64_t at);
  void end_store(std::size_t index, std::uint64_t at, std::uint64_t done);
  /// Memory has the store, and the L1 at `done`: it leaves the queue.
  void write_out(std::size_t index, std::uint64_t done);
  void release_loads_behind(const QueuedStore& store, std::uint64_t done);
  /// A store that has lost its page leaves the queue as a fault. `resume`: there is none.
  PipelineStop raise_fault();
  /// Committed stores to [begin, end) are done now. @returns whether there were any.
  bool perform_stores(Addr begin, Addr end);
  /// Messages have been sent.
  void narrow();
  /// Nothing from `position` on has been executed: it begins anew at `pc`, at `at`.
  void squash_from(std::uint64_t position, Addr pc, std::uint64_t at);

  PipelineState& state_;
  PipelineParts& parts_;
  LoadStoreUnit& lsu_;
  MemoryPort& port_;
  AccessBuffers& buffers_;
  const Latencies& latency_;
  const std::uint32_t width_, mispredict_, store_entries_;
  const std::uint64_t frequency_mhz_;

  std::uint64_t now_ = 0;    // the clock, or the cycle of the action at hand
  std::uint64_t cycle_ = 0;  // of dispatch
  std::uint32_t slots_ = 0;  // used in it
  std::uint64_t limit_ = 0;  // of dispatch, for now
  Stall stall_ = Stall::none;
  bool is_stopping_ = false;
  bool needs_strict_ = false;  // what is to be dispatched next
  bool syncs_ = true;          // cycle_ is the state's when execution goes on
  bool resolves_ = false;      // something has become known
  bool is_called_ = false;     // within run() or perform()
  bool is_cancelled_ = false;  // in this call, by an access of its own
  bool is_blocked_ = false;    // an access waits for the decision on a conflict
  bool has_fault_ = false;     // a committed store has lost its page
  Cycle cancelled_at_{};
  LineAddr awaited_line_{};    // Stall::line
  std::uint64_t branch_ = 0;   // Stall::branch: its position
  AccessParts fetch_parts_{};  // for which the next instruction has waited
  bool has_fetch_parts_ = false;

  ReorderBuffer buffer_;
  std::array<std::uint64_t, 65> ready_{}, producer_{};  // by register: the time, and its producer
  IssuePorts ports_;
  std::vector<std::uint64_t> unresolved_;  // positions of all that is not done, in order
  std::priority_queue<Action> actions_;
  std::uint64_t stamp_ = 0;

  CommitTimes commits_;
  WordCounts waiting_loads_;  // not done

  StoreQueue stores_;
  TaskAccesses tasks_;
  std::uint64_t last_store_end_ = 0;
  std::uint64_t loads_behind_stores_ = 0;  // entries with an awaited_store

  std::array<std::uint64_t, 65> committed_{};  // registers, where instructions are observed
  WindowStats stats_;
  WindowFault fault_ = WindowFault::none;
  std::uint64_t guesses_ = 0;
};

}  // namespace rubato::chip
