// Dispatch of a window core: semantics.inc once more, on registers and memory as they are when an instruction
// is dispatched. See window_dispatch.hpp.
// SPDX-License-Identifier: MIT
#include "chip/core/window/window_dispatch.hpp"

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "chip/core/stopping_instructions.hpp"
#include "chip/isa/semantics_macros.hpp"

namespace rubato::chip {

using namespace isa;  // semantics.inc speaks the ISA's names

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

std::uint64_t WindowDispatch::read_counter(unsigned number) const {
  const PipelineParts& parts = w_.pipeline;
  const std::uint64_t cycle = w_.point.cycle();
  const std::uint64_t value = number == csr::instret ? parts.counters.instructions
                              : number == csr::time  ? parts.time_origin + cycle * 1000 / parts.frequency_mhz
                                                     : cycle;
  w_.reports.execution(&ExecutionObserver::on_counter, value);
  return value;
}

bool WindowDispatch::is_alone(bool stores) {
  if (!w_.buffer.is_empty() || (stores && !w_.stores.empty())) {
    w_.point.await_older();
    return false;
  }
  w_.point.go_to(std::max({w_.now, w_.commits.last(), stores ? stores_.last_end() : 0}));
  return w_.point.reaches_clock(w_.state.window);
}

bool WindowDispatch::fetch(LineAddr line) {
  w_.point.go_to(w_.now);
  if (!w_.point.reaches_clock(w_.state.window)) return false;
  const AccessResult result = w_.port.access(line, AccessKind::fetch, w_.point.cycle());
  if (!result.done) {
    left();
    return false;
  }
  w_.point.fetched(result.parts);
  w_.point.go_to(result.cycle.value);
  return true;
}

PipelineStop WindowDispatch::left() {
  Departure& departure = w_.state.departure;
  const PipelineStop why = std::exchange(departure.stop, PipelineStop::resume);
  // On a conflict only an access that goes alone is blocked here, or one that has aborted its own task.
  if (why == PipelineStop::blocked && departure.blocked_by == BlockReason::conflict_pending) return why;
  if (why == PipelineStop::blocked) {
    w_.point.await_line(departure.blocked_line);
    w_.narrow();
    return PipelineStop::resume;
  }
  if (why == PipelineStop::resume) w_.point.await_clock();
  return why;
}

WindowEntry& WindowDispatch::add(const Insn& insn, Addr pc, std::uint64_t old_value) {
  const std::uint64_t position = w_.buffer.tail();
  WindowEntry& e = w_.buffer[position];
  e.insn = insn;
  e.pc = pc;
  e.value = w_.state.hart.registers()[insn.rd];
  e.old_value = old_value;
  e.dispatched = w_.point.cycle();
  e.issued = e.complete = WindowEntry::kUnknown;
  e.stamp = ++stamp_;
  e.parts = w_.point.fetch_parts();
  w_.point.forget_fetch();
  e.path = w_.pipeline.predictor.path();
  e.state = WindowEntry::State::hangs;
  e.awaits_decision = e.is_listed = e.is_alone = e.is_mispredicted = e.has_flags = false;
  e.floor = e.dispatched + 1;
  e.awaited_store = 0;
  w_.issue.rename(e, position);
  if (insn.cls == InsnClass::load) w_.commits.add_load();
  w_.point.use_slot();
  w_.buffer.add();
  return e;
}

void WindowDispatch::finish_store(WindowEntry& e, Addr address, std::uint64_t value) {
  e.address = address;
  w_.stores.add({.position = w_.buffer.tail() - 1,
                 .stamp = e.stamp,
                 .address = address,
                 .value = value,
                 .bytes = e.insn.bytes});
  w_.issue.schedule(e);
}

void WindowDispatch::finish_alone(WindowEntry& e, const IssueSlot& slot) {
  e.issued = w_.point.cycle();
  e.is_alone = true;
  if (slot.source == ResultSource::access) e.parts = sum_of(e.parts, *slot.parts);
  if (e.is_store()) stores_.note_alone(e, slot.done);
  w_.issue.settle(e, w_.buffer.tail() - 1, slot.done);
  commit_.retire();
  w_.point.go_to(std::max(w_.point.cycle() + 1, w_.commits.last()));
}

void WindowDispatch::finish_jump(const WindowEntry& e) {
  if (!e.is_mispredicted) return;
  if (e.is_done()) return w_.point.mispredict(e.complete);
  w_.point.await_branch(w_.buffer.tail() - 1);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

PipelineStop WindowDispatch::run() {
  static const void* const labels[] = {
#define RUBATO_INSN(name, ...) &&op_##name,
#include "chip/isa/semantics.inc"
#undef RUBATO_INSN
  };
  // plain: register work. alone: it has been made, and `slot` says when it is complete.
  enum class Kind : std::uint8_t { plain, load, store, alone };
  WindowParts& w = w_;
  PipelineParts& parts = w.pipeline;
  PipelineState& state = w.state;
  LoadStoreUnit& lsu = parts.lsu;
  DispatchPoint& point = w.point;
  AddressSpace& memory = *state.ports.memory;
  BlockCache& blocks = *state.ports.blocks;
  std::uint64_t* const regs = state.hart.registers();
  PipelineStop stop = PipelineStop::resume;
  Block* block;
  const Insn* insn;
  bool uses_float = false, is_taken = false;
  Kind kind = Kind::plain;
  IssueSlot slot{};
  Addr accessed = 0, jump_target = 0;
  std::uint64_t old_value = 0, stored = 0;
  std::uint8_t flags = 0;

#define ENTER_FLOAT                      \
  if (block->has_float && !uses_float) { \
    fp::enter();                         \
    uses_float = true;                   \
  }
  if (parts.resume.block != nullptr && parts.resume.pc == state.hart.pc &&
      parts.resume.generation == blocks.generation() && line_of(parts.resume.block->pc) == parts.fetch_line) {
    block = parts.resume.block;
    insn = parts.resume.insn;
    ENTER_FLOAT;
    goto dispatch;
  }
  block = blocks.find(state.hart.pc);
enter_block:
  insn = block->insns();
  if (point.is_stalled() || point.is_at_limit()) goto out;
  if (const LineAddr line = line_of(block->pc); line != parts.fetch_line && insn->op != Op::fetch_fault) {
    if (state.task.attempt != nullptr && state.rights.lacks(block->pc)) {
      if (!is_alone(true)) goto out;
      state.departure.leave_with_fault(FaultKind::fetch_access, block->pc);
      stop = PipelineStop::fault;
      goto out;
    }
    if (!point.is_cycle_fresh()) {  // one line of code a cycle
      point.go_to(point.cycle() + 1);
      if (point.is_at_limit()) goto out;
    }
    if (insn->op != Op::host_call && !state.ports.l1i.hit(line, false) && !fetch(line)) goto out;
    parts.fetch_line = line;
  }
  ENTER_FLOAT;

#define INSN (*insn)
#define REGS regs
#define STATE state.hart
#define PC (block->pc + insn->offset)
#define GO_ALONE(complete_) \
  kind = Kind::alone;       \
  slot = { point.cycle(), (complete_), ResultSource::core, nullptr }
// Dispatched and executed; `e` is its entry.
#define ADD                                   \
  WindowEntry& e = add(*insn, PC, old_value); \
  if (block->has_float && insn->is_float()) e.has_flags = true, e.float_flags = flags
// Is it over already?
#define PASSES                                                                         \
  (w.is_open() && (kind == Kind::plain   ? (commit_.pass(*insn), true)                 \
                   : kind == Kind::load  ? commit_.pass_load(*insn, accessed)          \
                   : kind == Kind::store ? commit_.pass_store(*insn, accessed, stored) \
                                         : false))
#define COMPLETE   \
  do {             \
    if (!PASSES) { \
      ADD;         \
      FINISH;      \
    }              \
  } while (false)
// A branch or an indirect jump, with what the predictor knew of it.
#define RESOLVE(is_right)                 \
  if (w.is_open()) {                      \
    commit_.pass_jump(*insn, (is_right)); \
  } else {                                \
    ADD;                                  \
    e.is_mispredicted = !(is_right);      \
    FINISH;                               \
    finish_jump(e);                       \
  }
#define FINISH                           \
  switch (kind) {                        \
    case Kind::plain:                    \
      w.issue.schedule(e);               \
      break;                             \
    case Kind::load:                     \
      loads_.dispatch(e, accessed);      \
      break;                             \
    case Kind::store:                    \
      finish_store(e, accessed, stored); \
      break;                             \
    case Kind::alone:                    \
      e.address = accessed;              \
      finish_alone(e, slot);             \
      break;                             \
  }                                      \
  commit_.retire()
// An access goes alone through the load-store unit: `made` says whether it was made. A task's may have
// aborted others: nothing strict passes the next events of their cores.
#define ACCESS_ALONE(made)                    \
  if (!(made)) goto left;                     \
  if (state.task.is_task) w.note_disturbed(); \
  point.go_to(slot.issue)
// The load-store unit has dropped the access: it is a doomed run's, without the right to it.
#define SKIP_ALONE slot = { slot.issue, slot.issue + 1, ResultSource::core, nullptr }
#define REPORT(event, ...) w.reports.execution(&ExecutionObserver::event, __VA_ARGS__)
#define LOAD(T, name, address)                                                                           \
  accessed = (address);                                                                                  \
  const bool is_plain_##name = (accessed & (kLineBytes - 1)) + sizeof(T) <= kLineBytes &&                \
                               (memory.attributes(accessed) & Page::kRead) != 0 &&                       \
                               !w.tasks.is_guarded(accessed);                                            \
  bool skips_##name = false;                                                                             \
  if (is_plain_##name) {                                                                                 \
    kind = Kind::load;                                                                                   \
  } else {                                                                                               \
    if (!is_alone(true)) goto out;                                                                       \
    GO_ALONE(0);                                                                                         \
    ACCESS_ALONE(lsu.load(accessed, sizeof(T), slot, false));                                            \
    skips_##name = lsu.take_skip();                                                                      \
    if (skips_##name) SKIP_ALONE;                                                                        \
  }                                                                                                      \
  const std::uint64_t raw_##name = skips_##name ? 0 : loads_.seen(accessed, sizeof(T), w.buffer.tail()); \
  if (kind == Kind::alone) REPORT(on_load, accessed, unsigned{sizeof(T)}, std::uint64_t{raw_##name});    \
  T name;                                                                                                \
  std::memcpy(&name, &raw_##name, sizeof name)
#define STORE(T, address, value)                                                            \
  accessed = (address);                                                                     \
  const T store_value = (value);                                                            \
  if ((accessed & (kLineBytes - 1)) + sizeof(T) <= kLineBytes &&                            \
      (memory.attributes(accessed) & Page::kWrite) != 0 && !w.tasks.is_guarded(accessed)) { \
    if (state.task.attempt != nullptr) {                                                    \
      slot = {point.cycle(), point.cycle(), ResultSource::core, nullptr};                   \
      if (!w.tasks.make_log_room(w.stores, accessed, sizeof(T), slot)) goto unlogged;       \
      point.go_to(slot.issue);                                                              \
    }                                                                                       \
    kind = Kind::store;                                                                     \
    stored = stored_bits<T>(store_value);                                                   \
  } else {                                                                                  \
    if (!is_alone(true)) goto out;                                                          \
    GO_ALONE(0);                                                                            \
    ACCESS_ALONE(lsu.store(accessed, sizeof(T), slot));                                     \
    if (lsu.take_skip()) {                                                                  \
      SKIP_ALONE;                                                                           \
    } else {                                                                                \
      REPORT(on_store, accessed, unsigned{sizeof(T)});                                      \
      memory.store<T>(accessed, store_value);                                               \
    }                                                                                       \
  }
// Atomics that order memory, atomics to a line with queued stores, and those of tasks, wait for the queue.
#define ATOMIC_ALONE                                                         \
  if (!is_alone(((insn->flags & (Insn::kAcquire | Insn::kRelease)) != 0 &&   \
                 state.order_fault != OrderFault::atomic_passes_stores) ||   \
                state.task.is_task || w.stores.has_line(line_of(accessed)))) \
  goto out
#define ATOMIC_ACCESS(T, a, kind_)                                         \
  accessed = (a);                                                          \
  if (accessed % sizeof(T) != 0) TRAP(misaligned_atomic, accessed);        \
  ATOMIC_ALONE;                                                            \
  GO_ALONE(0);                                                             \
  ACCESS_ALONE(lsu.atomic(accessed, sizeof(T), insn->flags, kind_, slot)); \
  const bool skips = lsu.take_skip();                                      \
  if (skips) SKIP_ALONE;                                                   \
  ++parts.counters.atomics
#define READ_ATOMIC(T) \
  skips && !memory.allows(accessed, sizeof(T), Page::kRead) ? T{} : memory.load<T>(accessed)
#define AMO(T, name, address, new_value)                                                     \
  ATOMIC_ACCESS(T, address, AccessKind::atomic);                                             \
  const T name = READ_ATOMIC(T);                                                             \
  REPORT(on_atomic, accessed, unsigned{sizeof(T)}, stored_bits<T>(name));                    \
  if (!skips) memory.store<T>(accessed, new_value);                                          \
  if (state.ports.lock_tickets != nullptr && !skips)                                         \
  state.ports.lock_tickets->on_atomic(state.core, *insn, PC, accessed, stored_bits<T>(name), \
                                      Cycle{point.cycle()})
#define LR(T, name, address)                                            \
  ATOMIC_ACCESS(T, address, AccessKind::reserve);                       \
  const T name = READ_ATOMIC(T);                                        \
  REPORT(on_load, accessed, unsigned{sizeof(T)}, stored_bits<T>(name)); \
  parts.reservation.make(accessed)
#define SC(T, name, address, value)                                                       \
  accessed = (address);                                                                   \
  if (accessed % sizeof(T) != 0) TRAP(misaligned_atomic, accessed);                       \
  ATOMIC_ALONE;                                                                           \
  GO_ALONE(point.cycle() + 1);                                                            \
  const bool drops = state.rights.drops(accessed);                                        \
  if (!drops && parts.reservation.stands(accessed)) {                                     \
    ACCESS_ALONE(lsu.atomic(accessed, sizeof(T), insn->flags, AccessKind::atomic, slot)); \
    ++parts.counters.atomics;                                                             \
  }                                                                                       \
  const bool is_stored = drops || parts.reservation.stands(accessed);                     \
  parts.reservation.end();                                                                \
  if (is_stored && !drops) memory.store<T>(accessed, value);                              \
  REPORT(on_store_conditional, accessed, unsigned{sizeof(T)}, bool{is_stored});           \
  const std::uint64_t name = is_stored ? 0 : 1
#define FENCE()                                                                  \
  if (!is_alone(state.order_fault != OrderFault::fence_passes_stores)) goto out; \
  GO_ALONE(point.cycle())
// Also ends blocks that no instruction ends: the pseudo-instruction takes no time and does not count.
#define NEXT_BLOCK() goto next_block
// Refused beside this core model: see Programs::check.
#define NOTE() RUBATO_CHECK(false, "notes are seen by cores in order")
#define JUMP(target_)        \
  do {                       \
    jump_target = (target_); \
    goto jump;               \
  } while (false)
#define JUMP_INDIRECT(target_)                                                                            \
  do {                                                                                                    \
    const Addr to = (target_);                                                                            \
    const bool returns = to == parts.watch_pc && regs[reg::sp] == parts.watch_sp;                         \
    if (returns && insn->rd == Insn::kSink && !is_alone(true)) goto out;                                  \
    RESOLVE((insn->flags & Insn::kReturn) != 0 ? parts.predictor.ret(to) : parts.predictor.jump(PC, to)); \
    if ((insn->flags & Insn::kLink) != 0) parts.predictor.call(NEXT_PC);                                  \
    block = blocks.find_taken(*block, to);                                                                \
    if (returns && w.buffer.is_empty()) goto returned;                                                    \
    goto enter_block;                                                                                     \
  } while (false)
#define BRANCH(condition, target_) \
  do {                             \
    is_taken = (condition);        \
    jump_target = (target_);       \
    goto branch;                   \
  } while (false)
#define TRAP(kind_, address_)                                     \
  do {                                                            \
    if (!is_alone(true)) goto out;                                \
    state.departure.leave_with_fault(FaultKind::kind_, address_); \
    stop = PipelineStop::fault;                                   \
    goto out;                                                     \
  } while (false)
#define STOP_AT(reason)            \
  do {                             \
    if (!is_alone(true)) goto out; \
    parts.stopped_at = *insn;      \
    parts.stopped_pc = PC;         \
    stop = PipelineStop::reason;   \
    goto out;                      \
  } while (false)
#define STOP_UNSEEN goto out
#define RUNNING_TASK state.task
#define READ_TIMESTAMP            \
  if (!is_alone(false)) goto out; \
  GO_ALONE(point.cycle() + 1);    \
  WRITE_RD(state.task.timestamp); \
  REPORT(on_task_read, static_cast<unsigned>(ReadSelector::timestamp), std::uint64_t{state.task.timestamp})
#define READ_COUNTER(number) read_counter(static_cast<unsigned>(number))

// Each operation has code of its own for its meaning only. The rest is long: one copy an operation would fill
// the host's instruction cache.
dispatch:
  if (!w.make_room(*insn, point, w.stats) || point.is_at_limit()) goto out;
  kind = Kind::plain;
  if (insn->cls == InsnClass::system) {
    if (!is_alone(false)) goto out;
    GO_ALONE(point.cycle() + 1);
  }
  if (block->has_float && !w.buffer.is_empty()) flags = float_flags(state.hart);
  old_value = regs[insn->rd];
  goto* labels[static_cast<unsigned>(insn->op)];

#define RUBATO_INSN(name, ...) \
  op_##name : {                \
    __VA_ARGS__;               \
    goto complete;             \
  }
#include "chip/isa/semantics.inc"
#undef RUBATO_INSN

complete:
  COMPLETE;
  ++insn;
  goto dispatch;

branch:
  RESOLVE(parts.predictor.branch(PC, is_taken));
  block = is_taken ? blocks.find_taken(*block, jump_target) : blocks.find_next(*block);
  goto enter_block;

jump:
  COMPLETE;
  if (insn->flags & Insn::kLink) parts.predictor.call(NEXT_PC);
  block = blocks.find_taken(*block, jump_target);
  goto enter_block;

next_block:
  if (insn->length != 0) COMPLETE;
  block = blocks.find_next(*block);
  goto enter_block;

unlogged:  // a fault goes alone
  if (state.departure.stop == PipelineStop::fault && !is_alone(true)) {
    state.departure.stop = PipelineStop::resume;
    goto out;
  }

left:
  point.go_to(slot.issue);
  stop = left();
  goto out;

returned:
  insn = block->insns();
  stop = PipelineStop::returned;

out:
  state.hart.pc = block->pc + insn->offset;
  if (uses_float) {
    fp::leave(state.hart);
    state.has_floats = true;
  }
  if (stop == PipelineStop::fault) state.departure.fault.pc = state.hart.pc;
  parts.resume.block = block;
  parts.resume.insn = insn;
  parts.resume.pc = state.hart.pc;
  parts.resume.generation = blocks.generation();
  return stop;
}

#pragma GCC diagnostic pop

}  // namespace rubato::chip
