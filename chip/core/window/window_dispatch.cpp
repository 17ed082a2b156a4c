// Dispatch of a window core: semantics.inc once more, on registers and memory as they are when an instruction
// is dispatched. See window_core.hpp.
// SPDX-License-Identifier: MIT
#include <immintrin.h>

#include <cstring>

#include "chip/core/window/window_core.hpp"
#include "chip/isa/semantics_macros.hpp"

namespace rubato::chip {

using namespace isa;  // semantics.inc speaks the ISA's names

std::uint64_t WindowCore::read_counter(unsigned number) const {
  const std::uint64_t value = number == csr::instret ? parts_.counters.instructions
                              : number == csr::time  ? parts_.time_origin + cycle_ * 1000 / frequency_mhz_
                                                     : cycle_;
  report(&ExecutionObserver::on_counter, value);
  return value;
}

namespace {

/// The bits of a store's value, zero-extended.
template <class T>
std::uint64_t stored_bits(T value) {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}
template <>
std::uint64_t stored_bits(CacheBlock block) {
  return block.words[0];
}

std::uint8_t float_flags(const HartState& hart) {
  return static_cast<std::uint8_t>((hart.fcsr & 31) | fp::flags_of_host(_mm_getcsr()));
}

}  // namespace

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

PipelineStop WindowCore::dispatch() {
  static const void* const labels[] = {
#define RUBATO_INSN(name, ...) &&op_##name,
#include "chip/isa/semantics.inc"
#undef RUBATO_INSN
  };
  // plain: register work. alone: it has been made, and `slot` says when it is complete.
  enum class Kind : std::uint8_t { plain, load, store, alone };
  AddressSpace& memory = state_.ports.memory;
  BlockCache& blocks = state_.ports.blocks;
  std::uint64_t* const regs = state_.hart.registers();
  PipelineStop stop = PipelineStop::resume;
  Block* block;
  const Insn* insn;
  bool uses_float = false;
  Kind kind = Kind::plain;
  IssueSlot slot{};
  Addr accessed = 0;
  std::uint64_t old_value = 0, stored = 0;
  std::uint8_t flags = 0;

#define ENTER_FLOAT                      \
  if (block->has_float && !uses_float) { \
    fp::enter();                         \
    uses_float = true;                   \
  }
  if (parts_.resume.block != nullptr && parts_.resume.pc == state_.hart.pc &&
      parts_.resume.generation == blocks.generation() &&
      line_of(parts_.resume.block->pc) == parts_.fetch_line) {
    block = parts_.resume.block;
    insn = parts_.resume.insn;
    ENTER_FLOAT;
    goto* labels[static_cast<unsigned>(insn->op)];
  }
  block = blocks.find(state_.hart.pc);
enter_block:
  insn = block->insns();
  if (stall_ != Stall::none || cycle_ >= limit_) goto out;
  if (const LineAddr line = line_of(block->pc); line != parts_.fetch_line && insn->op != Op::fetch_fault) {
    if (state_.task.attempt != nullptr && state_.rights.lacks(block->pc, 1)) {
      if (!is_alone(true)) goto out;
      state_.departure.leave_with_fault(FaultKind::fetch_access, block->pc);
      stop = PipelineStop::fault;
      goto out;
    }
    if (slots_ != 0) {  // one line of code a cycle
      go_to(cycle_ + 1);
      if (cycle_ >= limit_) goto out;
    }
    if (insn->op != Op::host_call && !state_.ports.l1i.hit(line, false) && !fetch(line)) goto out;
    parts_.fetch_line = line;
  }
  ENTER_FLOAT;
  goto* labels[static_cast<unsigned>(insn->op)];

#define INSN (*insn)
#define REGS regs
#define STATE state_.hart
#define PC (block->pc + insn->offset)
#define PROLOGUE                                                                 \
  if (!make_room(*insn) || cycle_ >= limit_) goto out;                           \
  kind = Kind::plain;                                                            \
  if (insn->cls == InsnClass::system) {                                          \
    if (!is_alone(false)) goto out;                                              \
    GO_ALONE(cycle_ + 1);                                                        \
  }                                                                              \
  if (block->has_float && !buffer_.is_empty()) flags = float_flags(state_.hart); \
  old_value = regs[insn->rd]
#define GO_ALONE(complete_) \
  kind = Kind::alone;       \
  slot = { cycle_, (complete_), ResultSource::core, nullptr }
// Dispatched and executed; `e` is its entry.
#define ADD                                   \
  WindowEntry& e = add(*insn, PC, old_value); \
  if (block->has_float && insn->is_float()) e.has_flags = true, e.float_flags = flags
#define LATENCY latency_[static_cast<unsigned>(insn->cls)]
// Is it over already?
#define PASSES                                                                          \
  (passes() && (kind == Kind::plain   ? (pass(*insn, issue_now(*insn) + LATENCY), true) \
                : kind == Kind::load  ? pass_load(*insn, accessed)                      \
                : kind == Kind::store ? pass_store(*insn, accessed, stored)             \
                                      : false))
#define COMPLETE \
  if (!PASSES) { \
    ADD;         \
    FINISH;      \
  }              \
  static_assert(true)
// A branch or an indirect jump, with what the predictor knew of it.
#define RESOLVE(is_right)                                      \
  if (passes()) {                                              \
    const std::uint64_t complete = issue_now(*insn) + LATENCY; \
    pass(*insn, complete);                                     \
    ++parts_.counters.branches;                                \
    if (!(is_right)) {                                         \
      ++parts_.counters.mispredicts;                           \
      go_to(complete - 1 + mispredict_);                       \
    }                                                          \
  } else {                                                     \
    ADD;                                                       \
    e.is_mispredicted = !(is_right);                           \
    FINISH;                                                    \
    finish_jump(e);                                            \
  }
#define FINISH                           \
  switch (kind) {                        \
    case Kind::plain:                    \
      schedule(e);                       \
      break;                             \
    case Kind::load:                     \
      finish_load(e, accessed);          \
      break;                             \
    case Kind::store:                    \
      finish_store(e, accessed, stored); \
      break;                             \
    case Kind::alone:                    \
      e.address = accessed;              \
      finish_alone(e, slot);             \
      break;                             \
  }                                      \
  retire()
// An access goes alone through the load-store unit: `made` says whether it was made. A task's may have
// aborted others: nothing strict passes the next events of their cores.
#define ACCESS_ALONE(made)                                            \
  if (!(made)) goto left;                                             \
  if (state_.task.is_task) limit_ = std::min(limit_, dispatch_end()); \
  go_to(slot.issue)
// The load-store unit has dropped the access: it is a doomed run's, without the right to it.
#define SKIP_ALONE slot = { slot.issue, slot.issue + 1, ResultSource::core, nullptr }
#define REPORT(event, ...) report(&ExecutionObserver::event, __VA_ARGS__)
#define LOAD(T, name, address)                                                                        \
  accessed = (address);                                                                               \
  const bool is_plain_##name = (accessed & (kLineBytes - 1)) + sizeof(T) <= kLineBytes &&             \
                               (memory.attributes(accessed) & Page::kRead) != 0 &&                    \
                               !tasks_.is_guarded(accessed);                                          \
  bool skips_##name = false;                                                                          \
  if (is_plain_##name) {                                                                              \
    kind = Kind::load;                                                                                \
  } else {                                                                                            \
    if (!is_alone(true)) goto out;                                                                    \
    GO_ALONE(0);                                                                                      \
    ACCESS_ALONE(lsu_.load(accessed, sizeof(T), slot, false));                                        \
    skips_##name = lsu_.take_skip();                                                                  \
    if (skips_##name) SKIP_ALONE;                                                                     \
  }                                                                                                   \
  const std::uint64_t raw_##name = skips_##name ? 0 : seen(accessed, sizeof(T), buffer_.tail());      \
  if (kind == Kind::alone) REPORT(on_load, accessed, unsigned{sizeof(T)}, std::uint64_t{raw_##name}); \
  T name;                                                                                             \
  std::memcpy(&name, &raw_##name, sizeof name)
#define STORE(T, address, value)                                                           \
  accessed = (address);                                                                    \
  const T store_value = (value);                                                           \
  if ((accessed & (kLineBytes - 1)) + sizeof(T) <= kLineBytes &&                           \
      (memory.attributes(accessed) & Page::kWrite) != 0 && !tasks_.is_guarded(accessed)) { \
    if (state_.task.attempt != nullptr) {                                                  \
      slot = {cycle_, cycle_, ResultSource::core, nullptr};                                \
      if (!tasks_.make_log_room(stores_, accessed, sizeof(T), slot)) goto unlogged;        \
      go_to(slot.issue);                                                                   \
    }                                                                                      \
    kind = Kind::store;                                                                    \
    stored = stored_bits<T>(store_value);                                                  \
  } else {                                                                                 \
    if (!is_alone(true)) goto out;                                                         \
    GO_ALONE(0);                                                                           \
    ACCESS_ALONE(lsu_.store(accessed, sizeof(T), slot));                                   \
    if (lsu_.take_skip()) {                                                                \
      SKIP_ALONE;                                                                          \
    } else {                                                                               \
      REPORT(on_store, accessed, unsigned{sizeof(T)});                                     \
      memory.store<T>(accessed, store_value);                                              \
    }                                                                                      \
  }
// Atomics that order memory, atomics to a line with queued stores, and those of tasks, wait for the queue.
#define ATOMIC_ALONE                                                                             \
  if (!is_alone((insn->flags & (Insn::kAcquire | Insn::kRelease)) != 0 || state_.task.is_task || \
                stores_.has_line(line_of(accessed))))                                            \
  goto out
#define ATOMIC_ACCESS(T, a, kind_)                                          \
  accessed = (a);                                                           \
  if (accessed % sizeof(T) != 0) TRAP(misaligned_atomic, accessed);         \
  ATOMIC_ALONE;                                                             \
  GO_ALONE(0);                                                              \
  ACCESS_ALONE(lsu_.atomic(accessed, sizeof(T), insn->flags, kind_, slot)); \
  const bool skips = lsu_.take_skip();                                      \
  if (skips) SKIP_ALONE;                                                    \
  ++parts_.counters.atomics
#define READ_ATOMIC(T) \
  skips && !memory.allows(accessed, sizeof(T), Page::kRead) ? T{} : memory.load<T>(accessed)
#define AMO(T, name, address, new_value)                                  \
  ATOMIC_ACCESS(T, address, AccessKind::atomic);                          \
  const T name = READ_ATOMIC(T);                                          \
  REPORT(on_atomic, accessed, unsigned{sizeof(T)}, stored_bits<T>(name)); \
  if (!skips) memory.store<T>(accessed, new_value);                       \
  if (state_.ports.lock_tickets != nullptr && !skips)                     \
  state_.ports.lock_tickets->on_atomic(state_.core, *insn, PC, accessed, stored_bits<T>(name), Cycle{cycle_})
#define LR(T, name, address)                                            \
  ATOMIC_ACCESS(T, address, AccessKind::reserve);                       \
  const T name = READ_ATOMIC(T);                                        \
  REPORT(on_load, accessed, unsigned{sizeof(T)}, stored_bits<T>(name)); \
  parts_.reservation.make(accessed)
#define SC(T, name, address, value)                                                        \
  accessed = (address);                                                                    \
  if (accessed % sizeof(T) != 0) TRAP(misaligned_atomic, accessed);                        \
  ATOMIC_ALONE;                                                                            \
  GO_ALONE(cycle_ + 1);                                                                    \
  const bool drops = state_.rights.drops(accessed);                                        \
  if (!drops && parts_.reservation.stands(accessed)) {                                     \
    ACCESS_ALONE(lsu_.atomic(accessed, sizeof(T), insn->flags, AccessKind::atomic, slot)); \
    ++parts_.counters.atomics;                                                             \
  }                                                                                        \
  const bool is_stored = drops || parts_.reservation.stands(accessed);                     \
  parts_.reservation.end();                                                                \
  if (is_stored && !drops) memory.store<T>(accessed, value);                               \
  REPORT(on_store_conditional, accessed, unsigned{sizeof(T)}, bool{is_stored});            \
  const std::uint64_t name = is_stored ? 0 : 1
#define FENCE()                  \
  if (!is_alone(true)) goto out; \
  GO_ALONE(cycle_)
// Also ends blocks that no instruction ends: the pseudo-instruction takes no time and does not count.
#define NEXT_BLOCK()                  \
  do {                                \
    if (insn->length != 0) {          \
      COMPLETE;                       \
    }                                 \
    block = blocks.find_next(*block); \
    goto enter_block;                 \
  } while (false)
#define JUMP(target)                                               \
  do {                                                             \
    const Addr to = (target);                                      \
    COMPLETE;                                                      \
    if (insn->flags & Insn::kLink) parts_.predictor.call(NEXT_PC); \
    block = blocks.find_taken(*block, to);                         \
    goto enter_block;                                              \
  } while (false)
#define JUMP_INDIRECT(target_)                                                                              \
  do {                                                                                                      \
    const Addr to = (target_);                                                                              \
    const bool returns = to == parts_.watch_pc && regs[reg::sp] == parts_.watch_sp;                         \
    if (returns && insn->rd == Insn::kSink && !is_alone(true)) goto out;                                    \
    RESOLVE((insn->flags & Insn::kReturn) != 0 ? parts_.predictor.ret(to) : parts_.predictor.jump(PC, to)); \
    if ((insn->flags & Insn::kLink) != 0) parts_.predictor.call(NEXT_PC);                                   \
    block = blocks.find_taken(*block, to);                                                                  \
    if (returns && buffer_.is_empty()) goto returned;                                                       \
    goto enter_block;                                                                                       \
  } while (false)
#define BRANCH(condition, target)                                                 \
  do {                                                                            \
    const bool taken = (condition);                                               \
    RESOLVE(parts_.predictor.branch(PC, taken));                                  \
    block = taken ? blocks.find_taken(*block, target) : blocks.find_next(*block); \
    goto enter_block;                                                             \
  } while (false)
#define TRAP(kind_, address_)                                      \
  do {                                                             \
    if (!is_alone(true)) goto out;                                 \
    state_.departure.leave_with_fault(FaultKind::kind_, address_); \
    stop = PipelineStop::fault;                                    \
    goto out;                                                      \
  } while (false)
#define STOP_AT(reason)            \
  do {                             \
    if (!is_alone(true)) goto out; \
    parts_.stopped_at = *insn;     \
    parts_.stopped_pc = PC;        \
    stop = PipelineStop::reason;   \
    goto out;                      \
  } while (false)
#define EVENT(kind_) EVENT_##kind_
#define EVENT_ecall STOP_AT(ecall)
#define EVENT_fence_i STOP_AT(fence_i)
#define EVENT_stop goto out  // stop addresses are fast-forward's: cleared before detailed simulation
#define EVENT_host_call STOP_AT(host_call)
#define TASK(name) TASK_##name
#define TASK_create STOP_AT(task)
#define TASK_finish STOP_AT(task)
#define TASK_promote STOP_AT(task)
#define TASK_region STOP_AT(task)
#define TASK_capsule_call STOP_AT(task)
#define TASK_capsule_vector STOP_AT(task)
#define TASK_capsule_return STOP_AT(task)
#define TASK_capsule_on_abort STOP_AT(task)
// A task's timestamp never changes: reading it does not stop the core.
#define TASK_read                                                                                \
  do {                                                                                           \
    if (!state_.task.is_task || static_cast<ReadSelector>(insn->imm) != ReadSelector::timestamp) \
      STOP_AT(task);                                                                             \
    if (!is_alone(false)) goto out;                                                              \
    GO_ALONE(cycle_ + 1);                                                                        \
    WRITE_RD(state_.task.timestamp);                                                             \
    REPORT(on_task_read, static_cast<unsigned>(ReadSelector::timestamp),                         \
           std::uint64_t{state_.task.timestamp});                                                \
    NEXT_BLOCK();                                                                                \
  } while (false)
#define READ_COUNTER(number) read_counter(static_cast<unsigned>(number))

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

unlogged:  // a fault goes alone
  if (state_.departure.stop == PipelineStop::fault && !is_alone(true)) {
    state_.departure.stop = PipelineStop::resume;
    goto out;
  }

left:
  go_to(slot.issue);
  stop = left();
  goto out;

returned:
  insn = block->insns();
  stop = PipelineStop::returned;

out:
  state_.hart.pc = block->pc + insn->offset;
  if (uses_float) {
    fp::leave(state_.hart);
    state_.has_floats = true;
  }
  if (stop == PipelineStop::fault) state_.departure.fault.pc = state_.hart.pc;
  parts_.resume.block = block;
  parts_.resume.insn = insn;
  parts_.resume.pc = state_.hart.pc;
  parts_.resume.generation = blocks.generation();
  return stop;
}

#pragma GCC diagnostic pop

}  // namespace rubato::chip
