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
  if (number == csr::instret) return parts_.counters.instructions;
  return number == csr::time ? parts_.time_origin + cycle_ * 1000 / frequency_mhz_ : cycle_;
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
#define LOAD(T, name, address)                                                            \
  accessed = (address);                                                                   \
  const bool is_plain_##name = (accessed & (kLineBytes - 1)) + sizeof(T) <= kLineBytes && \
                               (memory.attributes(accessed) & Page::kRead) != 0;          \
  if (is_plain_##name) {                                                                  \
    kind = Kind::load;                                                                    \
  } else {                                                                                \
    if (!is_alone(true)) goto out;                                                        \
    GO_ALONE(0);                                                                          \
    if (!lsu_.load(accessed, sizeof(T), slot, false)) goto left;                          \
    go_to(slot.issue);                                                                    \
  }                                                                                       \
  const std::uint64_t raw_##name = seen(accessed, sizeof(T), buffer_.tail());             \
  T name;                                                                                 \
  std::memcpy(&name, &raw_##name, sizeof name)
#define STORE(T, address, value)                                 \
  accessed = (address);                                          \
  const T store_value = (value);                                 \
  if ((accessed & (kLineBytes - 1)) + sizeof(T) <= kLineBytes && \
      (memory.attributes(accessed) & Page::kWrite) != 0) {       \
    kind = Kind::store;                                          \
    stored = stored_bits<T>(store_value);                        \
  } else {                                                       \
    if (!is_alone(true)) goto out;                               \
    GO_ALONE(0);                                                 \
    if (!lsu_.store(accessed, sizeof(T), slot)) goto left;       \
    go_to(slot.issue);                                           \
    memory.store<T>(accessed, store_value);                      \
  }
// Atomics that order memory, and atomics to a line with queued stores, wait for the queue.
#define ATOMIC_ACCESS(T, a, kind_)                                            \
  accessed = (a);                                                             \
  if (accessed % sizeof(T) != 0) TRAP(misaligned_atomic, accessed);           \
  if (!is_alone((insn->flags & (Insn::kAcquire | Insn::kRelease)) != 0 ||     \
                stores_.has_line(line_of(accessed))))                         \
    goto out;                                                                 \
  GO_ALONE(0);                                                                \
  if (!lsu_.atomic(accessed, sizeof(T), insn->flags, kind_, slot)) goto left; \
  go_to(slot.issue);                                                          \
  ++parts_.counters.atomics
#define AMO(T, name, address, new_value)         \
  ATOMIC_ACCESS(T, address, AccessKind::atomic); \
  const T name = memory.load<T>(accessed);       \
  memory.store<T>(accessed, new_value);          \
  if (state_.ports.lock_tickets != nullptr)      \
  state_.ports.lock_tickets->on_atomic(state_.core, *insn, PC, accessed, stored_bits<T>(name), Cycle{cycle_})
#define LR(T, name, address)                      \
  ATOMIC_ACCESS(T, address, AccessKind::reserve); \
  const T name = memory.load<T>(accessed);        \
  parts_.reservation.make(accessed)
#define SC(T, name, address, value)                                                          \
  accessed = (address);                                                                      \
  if (accessed % sizeof(T) != 0) TRAP(misaligned_atomic, accessed);                          \
  if (!is_alone((insn->flags & (Insn::kAcquire | Insn::kRelease)) != 0 ||                    \
                stores_.has_line(line_of(accessed))))                                        \
    goto out;                                                                                \
  GO_ALONE(cycle_ + 1);                                                                      \
  if (parts_.reservation.stands(accessed)) {                                                 \
    if (!lsu_.atomic(accessed, sizeof(T), insn->flags, AccessKind::atomic, slot)) goto left; \
    go_to(slot.issue);                                                                       \
    ++parts_.counters.atomics;                                                               \
  }                                                                                          \
  const bool is_stored = parts_.reservation.stands(accessed);                                \
  parts_.reservation.end();                                                                  \
  if (is_stored) memory.store<T>(accessed, value);                                           \
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
#define TASK(name) STOP_AT(task)
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
