// The timed interpreter: semantics.inc with issue timing around every body. See pipeline.hpp.
// SPDX-License-Identifier: MIT
#include "chip/core/pipeline.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "chip/core/window/window_core.hpp"
#include "chip/isa/semantics_macros.hpp"

namespace rubato::chip {

using namespace isa;  // semantics.inc speaks the ISA's names

Pipeline::Pipeline(CoreId core, const Config& config, Ports ports)
    : mispredict_(config.core.mispredict),
      latency_(latencies_of(config.core)),
      state_(core, config, ports),
      reservation_(core, ports.l1d, ports.reservations, state_.task, state_.rights, state_.hart),
      lsu_(state_, config),
      predictor_(config.core),
      frequency_mhz_(config.chip.frequency_mhz) {
  if (config.core.model != "window") return;
  model_ = std::make_unique<WindowCore>(config, WindowCore::Parts{.state = state_,
                                                                  .reservation = reservation_,
                                                                  .lsu = lsu_,
                                                                  .predictor = predictor_,
                                                                  .counters = counters_,
                                                                  .stopped_at = stopped_at_,
                                                                  .stopped_pc = stopped_pc_,
                                                                  .watch_pc = watch_pc_,
                                                                  .watch_sp = watch_sp_,
                                                                  .time_origin = time_origin_});
}

void Pipeline::begin_context(Cycle at) {
  RUBATO_DCHECK(at >= state_.cycle);
  state_.cycle = at;
  state_.scoreboard.clear(at.value);
  reservation_.end();
  forget_resume();
  if (model_ != nullptr) model_->begin_context();
}

void Pipeline::begin_task(Attempt* attempt, Timestamp timestamp) {
  state_.task.attempt = attempt;
  state_.task.is_task = true;
  state_.task.timestamp = timestamp;
  state_.task.is_doomed = false;
  lsu_.port().begin_task();
}

void Pipeline::end_speculation() {
  state_.task.attempt = nullptr;
  state_.task.is_doomed = false;
  lsu_.port().end_speculation();
}

void Pipeline::stop_task() {
  deferrals().cancel();
  end_speculation();
  lsu_.port().stop_task();
}

void Pipeline::set_own_stack(Addr low, Addr high) {
  state_.rights.set_own_stack(low, high);
  state_.ports.l1d.forget_untracked();
}

void Pipeline::resume_at(Cycle at, CyclePart part) {
  if (at <= state_.cycle) return;
  if (part != CyclePart::core) state_.stalls.charge(part, at - state_.cycle);
  state_.cycle = at;
}

void Pipeline::resume_blocked(Cycle at) {
  if (at <= state_.cycle) return;
  // The rest of the wait is no message's: the core waited for the fate of another task, or for requests that
  // came to nothing.
  state_.stalls.wait(
      state_.cycle, at, state_.ports.memory_system.take_waited(state_.core),
      state_.departure.blocked_by == BlockReason::protocol ? CyclePart::network : CyclePart::check);
}

Cycle Pipeline::drain() {
  RUBATO_DCHECK(!deferrals().any());
  std::uint64_t issue = state_.cycle.value;
  lsu_.drain(issue);
  state_.cycle = Cycle{issue};
  return state_.cycle;
}

void Pipeline::skip_instruction() {
  state_.hart.pc += stopped_at_.length;
  forget_resume();
  count_instruction();
}

bool Pipeline::end_host_call(bool returns) {
  forget_resume();
  fetch_line_ = LineAddr{~std::uint64_t{0}};
  if (!returns) return false;
  predictor_.ret(state_.hart.pc);  // right or wrong: the call takes no time
  return state_.hart.pc == watch_pc_ && state_.hart.x[reg::sp] == watch_sp_;
}

bool Pipeline::fetch_slow(LineAddr line, std::uint64_t& issue) {
  if (!state_.window.is_strict(issue)) return state_.departure.leave(PipelineStop::resume);
  const AccessResult result = lsu_.port().access(line, AccessKind::fetch, issue);
  if (!result.done) return false;
  state_.stalls.wait(issue, result.cycle.value, result.parts);
  return true;
}

std::uint64_t Pipeline::read_counter(unsigned number, std::uint64_t issue, std::uint64_t executed) const {
  if (number == csr::instret) return counters_.instructions + executed;
  return number == csr::time ? time_origin_ + issue * 1000 / frequency_mhz_ : issue;
}

namespace {

/// The bits of a loaded value, zero-extended.
template <class T>
std::uint64_t bits(T value) {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}

}  // namespace

template <bool is_observed>
std::uint64_t Pipeline::observed(std::uint64_t counter) {
  if constexpr (is_observed) {
    if (state_.ports.observer != nullptr && !state_.task.is_doomed)
      state_.ports.observer->on_counter(state_.core, counter);
  }
  return counter;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

template <bool is_observed>
PipelineStop Pipeline::execute(Cycle now, Cycle next_other, Cycle pause_at) {
  static const void* const labels[] = {
#define RUBATO_INSN(name, ...) &&op_##name,
#include "chip/isa/semantics.inc"
#undef RUBATO_INSN
  };
  state_.window.begin(now, next_other, pause_at);
  // Stores of a speculative task take the slow path, which logs.
  std::uint64_t run_end, store_end;
#define READ_ENDS                    \
  run_end = state_.window.run_end(); \
  store_end = state_.task.attempt != nullptr || state_.task.is_doomed ? 0 : run_end
  READ_ENDS;
#define ENTER_FLOAT                      \
  if (block->has_float && !uses_float) { \
    fp::enter();                         \
    uses_float = true;                   \
  }
  AddressSpace& memory = state_.ports.memory;
  L1Cache& l1d = state_.ports.l1d;
  BlockCache& blocks = state_.ports.blocks;
  std::uint64_t* const regs = state_.hart.registers();
  std::uint64_t t = state_.cycle.value;
  std::uint64_t executed = 0;
  state_.departure.stop = PipelineStop::resume;

  Block* block = nullptr;
  const Insn* insn = nullptr;
  const Insn* first = nullptr;
  IssueSlot slot{};
  std::uint64_t issue = t;  // slow paths get at slot.issue: what nothing points to stays in a register
  bool uses_float = false;  // most runs do not, and asking the host for its flags is slow
  PipelineStop awaited = PipelineStop::resume;
  [[maybe_unused]] Addr accessed = 0;
  [[maybe_unused]] bool has_access = false;

  if (is_where_it_left() && resume_block_ != nullptr) {
    block = resume_block_;
    // Else it is left at its first instruction, which was not fetched: it is entered anew.
    if (line_of(block->pc) == fetch_line_) {
      insn = first = resume_insn_;
      if (t >= run_end) goto out;
      ENTER_FLOAT;
      // The L1 has refused the access already. Zero bounds send it to the slow path without a second look-up.
      const std::uint64_t asks = state_.is_refused ? 0 : ~std::uint64_t{0};
      run_end &= asks;
      store_end &= asks;
      goto dispatch;
    }
    RUBATO_CHECK(resume_insn_ == block->insns() && !state_.is_refused, "inside a block that was not fetched");
  } else {
    block = blocks.find(state_.hart.pc);
    state_.is_refused = false;
  }
enter_block:
  insn = first = block->insns();
  if (t >= run_end) goto out;
  // Nothing is fetched where there is no code: a wild jump ends at its page, not in the caches.
  if (const LineAddr line = line_of(block->pc); line != fetch_line_ && insn->op != Op::fetch_fault) {
    if (state_.task.attempt != nullptr && state_.rights.lacks(block->pc, 1)) {
      if (t < state_.window.strict_end())
        state_.departure.leave_with_fault(FaultKind::fetch_access, block->pc);
      goto out;
    }
    if (insn->op != Op::host_call && !state_.ports.l1i.hit(line, false)) {
      slot.issue = t;
      if (!fetch_slow(line, slot.issue)) goto out;
      READ_ENDS;
      t = slot.issue;
    }
    fetch_line_ = line;
  }
  ENTER_FLOAT;

dispatch:
#define INSN (*insn)
#define REGS regs
#define STATE state_.hart
#define PC (block->pc + insn->offset)
#define PROLOGUE                                                  \
  issue = t;                                                      \
  if (state_.scoreboard.is_busy(t)) {                             \
    issue = state_.scoreboard.stall(*insn, t);                    \
    if (issue == Scoreboard::kUnknown) goto deferred;             \
  }                                                               \
  slot.done = issue + latency_[static_cast<unsigned>(insn->cls)]; \
  slot.source = ResultSource::core;
#define COMPLETE \
  RETIRE;        \
  SHOW
#define RETIRE   \
  t = issue + 1; \
  if (slot.done > t) state_.scoreboard.expect(insn->rd, slot)
// Shows an instruction that is complete. SHOW_ACCESS before it records the address that it accessed.
#define SHOW                                                                  \
  if constexpr (is_observed) {                                                \
    if (state_.ports.instructions != nullptr)                                 \
      state_.show(*insn, PC, Cycle{issue}, has_access ? &accessed : nullptr); \
    has_access = false;                                                       \
  }
#define SHOW_ACCESS(address) \
  if constexpr (is_observed) accessed = (address), has_access = true
#define COUNT_BLOCK executed += static_cast<std::uint64_t>(insn - first) + 1
#define OBSERVE(event, ...)                                         \
  if constexpr (is_observed) {                                      \
    if (state_.ports.observer != nullptr && !state_.task.is_doomed) \
      state_.ports.observer->event(state_.core, __VA_ARGS__);       \
  }                                                                 \
  static_assert(true)
#define LEAVE       \
  do {              \
    t = slot.issue; \
    goto out;       \
  } while (false)
#define LOAD(T, name, address)                                                              \
  const Addr address_##name = (address);                                                    \
  slot.issue = issue;                                                                       \
  const bool asks_##name = (address_##name & (kLineBytes - 1)) + sizeof(T) <= kLineBytes && \
                           issue < run_end && issue >= state_.fills_until;                  \
  if (asks_##name && l1d.hit(line_of(address_##name), false)) {                             \
    slot.done = issue + state_.l1_latency;                                                  \
    slot.source = ResultSource::l1;                                                         \
  } else {                                                                                  \
    if (!lsu_.load(address_##name, sizeof(T), slot, asks_##name)) LEAVE;                    \
    READ_ENDS;                                                                              \
    issue = slot.issue;                                                                     \
    if (lsu_.skips()) goto skipped;                                                         \
  }                                                                                         \
  ++counters_.loads;                                                                        \
  const T name = memory.load<T>(address_##name);                                            \
  SHOW_ACCESS(address_##name);                                                              \
  OBSERVE(on_load, address_##name, sizeof(T), bits(name))
#define STORE(T, address, value)                                                                            \
  const Addr store_address = (address);                                                                     \
  slot.issue = issue;                                                                                       \
  if (!((store_address & (kLineBytes - 1)) + sizeof(T) <= kLineBytes && issue < store_end &&                \
        (memory.attributes(store_address) & Page::kWrite) != 0 && l1d.hit(line_of(store_address), true))) { \
    if (!lsu_.store(store_address, sizeof(T), slot)) LEAVE;                                                 \
    READ_ENDS;                                                                                              \
    issue = slot.issue;                                                                                     \
    if (lsu_.skips()) goto skipped;                                                                         \
  }                                                                                                         \
  slot.done = issue + 1;                                                                                    \
  slot.source = ResultSource::core;                                                                         \
  ++counters_.stores;                                                                                       \
  SHOW_ACCESS(store_address);                                                                               \
  OBSERVE(on_store, store_address, sizeof(T));                                                              \
  memory.store<T>(store_address, value)
#define ATOMIC_ACCESS(T, a, kind)                                 \
  if (a % sizeof(T) != 0) TRAP(misaligned_atomic, a);             \
  slot.issue = issue;                                             \
  if (!lsu_.atomic(a, sizeof(T), insn->flags, kind, slot)) LEAVE; \
  READ_ENDS;                                                      \
  issue = slot.issue;                                             \
  ++counters_.atomics
#define READ_ATOMIC(T, name)                                                   \
  skips_##name && !memory.allows(address_##name, sizeof(T), Page::kRead) ? T{} \
                                                                         : memory.load<T>(address_##name)
#define AMO(T, name, address, new_value)                         \
  const Addr address_##name = (address);                         \
  ATOMIC_ACCESS(T, address_##name, AccessKind::atomic);          \
  const bool skips_##name = lsu_.take_skip();                    \
  const T name = READ_ATOMIC(T, name);                           \
  SHOW_ACCESS(address_##name);                                   \
  OBSERVE(on_atomic, address_##name, sizeof(T), bits(name));     \
  if (!skips_##name) memory.store<T>(address_##name, new_value); \
  if (state_.ports.lock_tickets != nullptr && !skips_##name)     \
  state_.ports.lock_tickets->on_atomic(state_.core, *insn, PC, address_##name, bits(name), Cycle{issue})
#define LR(T, name, address)                               \
  const Addr address_##name = (address);                   \
  ATOMIC_ACCESS(T, address_##name, AccessKind::reserve);   \
  const bool skips_##name = lsu_.take_skip();              \
  const T name = READ_ATOMIC(T, name);                     \
  SHOW_ACCESS(address_##name);                             \
  OBSERVE(on_load, address_##name, sizeof(T), bits(name)); \
  reservation_.make(address_##name)
// A failing sc accesses nothing; one that may succeed first gets the line, and fails if that lost the
// reservation.
#define SC(T, name, address, value)                                                            \
  const Addr address_##name = (address);                                                       \
  if (address_##name % sizeof(T) != 0) TRAP(misaligned_atomic, address_##name);                \
  slot.issue = issue;                                                                          \
  if (issue >= state_.window.strict_end()) LEAVE;                                              \
  const bool drops_##name = state_.rights.drops(address_##name);                               \
  if (!drops_##name && reservation_.stands(address_##name)) {                                  \
    if (!lsu_.atomic(address_##name, sizeof(T), insn->flags, AccessKind::atomic, slot)) LEAVE; \
    READ_ENDS;                                                                                 \
    issue = slot.issue;                                                                        \
    ++counters_.atomics;                                                                       \
  }                                                                                            \
  const bool stored_##name = drops_##name || reservation_.stands(address_##name);              \
  reservation_.end();                                                                          \
  if (stored_##name && !drops_##name) memory.store<T>(address_##name, value);                  \
  SHOW_ACCESS(address_##name);                                                                 \
  OBSERVE(on_store_conditional, address_##name, sizeof(T), stored_##name);                     \
  const std::uint64_t name = stored_##name ? 0 : 1
#define FENCE()                       \
  slot.issue = issue;                 \
  if (!lsu_.fence(slot.issue)) LEAVE; \
  issue = slot.issue
// Also ends blocks that no instruction ends: the pseudo-instruction takes no time and does not count.
#define NEXT_BLOCK()                                      \
  do {                                                    \
    executed += static_cast<std::uint64_t>(insn - first); \
    if (insn->length != 0) {                              \
      COMPLETE;                                           \
      ++executed;                                         \
    }                                                     \
    block = blocks.find_next(*block);                     \
    goto enter_block;                                     \
  } while (false)
#define JUMP(target)                                         \
  do {                                                       \
    const Addr to = (target);                                \
    if (insn->flags & Insn::kLink) predictor_.call(NEXT_PC); \
    COMPLETE;                                                \
    COUNT_BLOCK;                                             \
    block = blocks.find_taken(*block, to);                   \
    goto enter_block;                                        \
  } while (false)
#define JUMP_INDIRECT(target_)                                                                       \
  do {                                                                                               \
    const Addr to = (target_);                                                                       \
    COMPLETE;                                                                                        \
    COUNT_BLOCK;                                                                                     \
    ++counters_.branches;                                                                            \
    const bool right = (insn->flags & Insn::kReturn) ? predictor_.ret(to) : predictor_.jump(PC, to); \
    if (insn->flags & Insn::kLink) predictor_.call(NEXT_PC);                                         \
    if (!right) {                                                                                    \
      ++counters_.mispredicts;                                                                       \
      t += mispredict_;                                                                              \
    }                                                                                                \
    block = blocks.find_taken(*block, to);                                                           \
    if (to == watch_pc_ && regs[reg::sp] == watch_sp_) goto returned;                                \
    goto enter_block;                                                                                \
  } while (false)
#define BRANCH(condition, target)                                                     \
  do {                                                                                \
    const bool taken = (condition);                                                   \
    COMPLETE;                                                                         \
    COUNT_BLOCK;                                                                      \
    ++counters_.branches;                                                             \
    /* Branch-free: the host cannot predict a branch that the guest mispredicts. */   \
    const std::uint64_t wrong = predictor_.branch(PC, taken) ? 0 : ~std::uint64_t{0}; \
    counters_.mispredicts -= wrong;                                                   \
    t += mispredict_ & wrong;                                                         \
    if (taken) {                                                                      \
      block = blocks.find_taken(*block, target);                                      \
      goto enter_block;                                                               \
    }                                                                                 \
    block = blocks.find_next(*block);                                                 \
    goto enter_block;                                                                 \
  } while (false)
#define TRAP(kind, address)                                      \
  do {                                                           \
    t = issue;                                                   \
    if (issue >= state_.window.strict_end()) goto out;           \
    state_.departure.leave_with_fault(FaultKind::kind, address); \
    goto out;                                                    \
  } while (false)
#define STOP_AT(reason)                           \
  do {                                            \
    t = issue;                                    \
    state_.departure.stop = PipelineStop::reason; \
    goto stopped;                                 \
  } while (false)
#define EVENT(kind) EVENT_##kind
#define EVENT_ecall STOP_AT(ecall)
#define EVENT_fence_i STOP_AT(fence_i)
#define EVENT_stop goto out  // stop addresses are fast-forward's: cleared before detailed simulation
#define EVENT_host_call STOP_AT(host_call)
#define EVENT_breakpoint TRAP(breakpoint, PC)
#define TASK(name) TASK_##name
#define TASK_create STOP_AT(task)
#define TASK_finish STOP_AT(task)
#define TASK_promote STOP_AT(task)
#define TASK_region STOP_AT(task)
#define TASK_capsule_call STOP_AT(task)
#define TASK_capsule_vector STOP_AT(task)
#define TASK_capsule_return STOP_AT(task)
#define TASK_capsule_on_abort STOP_AT(task)
// A task's timestamp never changes: reading it is register work.
#define TASK_read                                                                                 \
  do {                                                                                            \
    if (!state_.task.is_task || static_cast<ReadSelector>(insn->imm) != ReadSelector::timestamp)  \
      STOP_AT(task);                                                                              \
    WRITE_RD(state_.task.timestamp);                                                              \
    OBSERVE(on_task_read, static_cast<unsigned>(ReadSelector::timestamp), state_.task.timestamp); \
    NEXT_BLOCK();                                                                                 \
  } while (false)
#define READ_COUNTER(number)                                               \
  observed<is_observed>(read_counter(static_cast<unsigned>(number), issue, \
                                     executed + static_cast<std::uint64_t>(insn - first)))

  goto* labels[static_cast<unsigned>(insn->op)];

#define RUBATO_INSN(name, ...)                     \
  op_##name : {                                    \
    PROLOGUE;                                      \
    __VA_ARGS__;                                   \
    COMPLETE;                                      \
    ++insn;                                        \
    goto* labels[static_cast<unsigned>(insn->op)]; \
  }
#include "chip/isa/semantics.inc"
#undef RUBATO_INSN

deferred:
  state_.departure.stop = PipelineStop::deferred;
  goto out;

skipped:  // a doomed run's load without right gives 0, its store is dropped
  lsu_.take_skip();
  ++(insn->is_load() ? counters_.loads : counters_.stores);
  if (deferrals().is_taking()) {  // its observer sees it when it performs
    slot.issue = issue;
    [[maybe_unused]] const Addr address =
        regs[insn->rs1] + static_cast<std::uint64_t>(std::int64_t{insn->imm});
    [[maybe_unused]] const bool is_shown = deferrals().is_forwarded();
    deferrals().end(*insn, PC, slot);
    RETIRE;
    if constexpr (is_observed) {
      if (is_shown) {
        SHOW_ACCESS(address);
        OBSERVE(on_load, address, insn->bytes, deferrals().forwarded());
        SHOW;
      }
    }
    ++insn;
    goto* labels[static_cast<unsigned>(insn->op)];
  }
  if (insn->is_load()) WRITE_RD(insn->op == Op::flw ? ~std::uint64_t{0} << 32 : 0);
  slot.done = issue + 1;
  slot.source = ResultSource::core;
  COMPLETE;
  ++insn;
  goto* labels[static_cast<unsigned>(insn->op)];

returned:
  insn = first = block->insns();
  state_.departure.stop = PipelineStop::returned;
  goto out;

stopped:
  stopped_at_ = *insn;
  if constexpr (is_observed) stopped_pc_ = PC;
  if (t >= state_.window.strict_end()) awaited = std::exchange(state_.departure.stop, PipelineStop::resume);

out:
  executed += static_cast<std::uint64_t>(insn - first);
  state_.hart.pc = block->pc + insn->offset;
  state_.cycle = Cycle{t};
  counters_.instructions += executed;
  if (uses_float) {
    fp::leave(state_.hart);
    state_.has_floats = true;
  }
  if (state_.departure.stop == PipelineStop::fault) state_.departure.fault.pc = state_.hart.pc;
  resume_insn_ = insn;
  resume_block_ = block;
  resume_pc_ = state_.hart.pc;
  resume_generation_ = state_.ports.blocks.generation();
  resume_stop_ = awaited;
  return state_.departure.stop;
}

template PipelineStop Pipeline::execute<false>(Cycle, Cycle, Cycle);
template PipelineStop Pipeline::execute<true>(Cycle, Cycle, Cycle);

#pragma GCC diagnostic pop

}  // namespace rubato::chip
