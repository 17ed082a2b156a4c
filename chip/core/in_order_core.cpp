// The timed interpreter: semantics.inc with issue timing around every body. See in_order_core.hpp.
// SPDX-License-Identifier: MIT
#include "chip/core/in_order_core.hpp"

#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "chip/core/access_value.hpp"
#include "chip/core/stopping_instructions.hpp"
#include "chip/isa/semantics_macros.hpp"

namespace rubato::chip {

using namespace isa;  // semantics.inc speaks the ISA's names

std::unique_ptr<CoreModel> make_inorder_core(const Config&, PipelineParts& parts) {
  return std::make_unique<InOrderCore>(parts);
}

PipelineStop InOrderCore::run(Cycle now, Cycle next_other, Cycle pause_at) {
  if (parts_.resume.stop != PipelineStop::resume) [[unlikely]]
    return run_at_stop(now, next_other, pause_at);
  if (shown() != Shown::nothing) [[unlikely]]
    return execute_shown(now, next_other, pause_at);
  return execute<Shown::nothing>(now, next_other, pause_at);
}

PipelineStop InOrderCore::execute_shown(Cycle now, Cycle next_other, Cycle pause_at) {
  return shown() == Shown::all ? execute<Shown::all>(now, next_other, pause_at)
                               : execute<Shown::watched_lines>(now, next_other, pause_at);
}

// Apart, so that run() needs no frame of its own.
PipelineStop InOrderCore::run_at_stop(Cycle now, Cycle next_other, Cycle pause_at) {
  PipelineState& state = parts_.state;
  ResumePoint& resume = parts_.resume;
  if (is_where_it_left()) {
    state.window.begin(now, next_other, pause_at);
    return state.departure.stop = state.window.is_strict(state.cycle.value)
                                      ? std::exchange(resume.stop, PipelineStop::resume)
                                      : PipelineStop::resume;
  }
  return shown() != Shown::nothing ? execute_shown(now, next_other, pause_at)
                                   : execute<Shown::nothing>(now, next_other, pause_at);
}

CoreModel::Leaving InOrderCore::begin_leaving() { return deferrals().any() ? Leaving::awaits : Leaving::now; }

void InOrderCore::cancel(Cycle) { deferrals().cancel(); }

bool InOrderCore::perform(LineAddr line, Cycle now) {
  deferrals().perform(line, now);
  return false;
}

bool InOrderCore::perform_blocked(Cycle now) {
  deferrals().perform_blocked(now);
  return false;
}

bool InOrderCore::perform_at_once(Addr begin, Addr end, Cycle now) {
  deferrals().perform_at_once(begin, end, now);
  return false;
}

void InOrderCore::flush(Cycle now) { deferrals().perform_at_once(0, ~Addr{0}, now); }

bool InOrderCore::fetch_slow(LineAddr line, std::uint64_t& issue) {
  if (!parts_.state.window.is_strict(issue)) return parts_.state.departure.leave(PipelineStop::resume);
  const AccessResult result = parts_.lsu.port().access(line, AccessKind::fetch, issue);
  if (!result.done) return false;
  parts_.state.stalls.wait(issue, result.cycle.value, result.parts);
  return true;
}

bool InOrderCore::note(BlockCache& blocks, Addr pc) {
  const PipelineState& state = parts_.state;
  return state.task.is_doomed || blocks.show_note(pc, state.hart, state.scoreboard.awaited());
}

std::uint64_t InOrderCore::read_counter(unsigned number, std::uint64_t issue, std::uint64_t executed) const {
  if (number == csr::instret) return parts_.counters.instructions + executed;
  return number == csr::time ? parts_.time_origin + issue * 1000 / parts_.frequency_mhz : issue;
}

namespace {

/// The bits of a loaded value, zero-extended.
template <class T>
std::uint64_t bits(T value) {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}
std::uint64_t bits(const CacheBlock& block) { return block.words[0]; }

}  // namespace

template <bool is_observed>
std::uint64_t InOrderCore::observed(std::uint64_t counter) {
  if constexpr (is_observed) {
    if (parts_.state.ports.observer != nullptr && !parts_.state.task.is_doomed)
      parts_.state.ports.observer->on_counter(parts_.state.core, counter);
  }
  return counter;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

template <InOrderCore::Shown kShown>
PipelineStop InOrderCore::execute(Cycle now, Cycle next_other, Cycle pause_at) {
  static const void* const labels[] = {
#define RUBATO_INSN(name, ...) &&op_##name,
#include "chip/isa/semantics.inc"
#undef RUBATO_INSN
  };
  constexpr bool is_observed = kShown == Shown::all;
  // Locals: one base register for everything below, whatever the stores of guests may alias.
  PipelineParts& parts = parts_;
  PipelineState& state = parts.state;
  state.window.begin(now, next_other, pause_at);
  // Stores of a speculative task take the slow path, which logs.
  std::uint64_t run_end, store_end;
#define READ_ENDS                   \
  run_end = state.window.run_end(); \
  store_end = state.task.attempt != nullptr || state.task.is_doomed ? 0 : run_end
  READ_ENDS;
#define ENTER_FLOAT                      \
  if (block->has_float && !uses_float) { \
    fp::enter();                         \
    uses_float = true;                   \
  }
  AddressSpace& memory = *state.ports.memory;
  L1Cache& l1d = state.ports.l1d;
  BlockCache& blocks = *state.ports.blocks;
  std::uint64_t* const regs = state.hart.registers();
  std::uint64_t t = state.cycle.value;
  std::uint64_t executed = 0;
  state.departure.stop = PipelineStop::resume;

  Block* block = nullptr;
  const Insn* insn = nullptr;
  const Insn* first = nullptr;
  IssueSlot slot{};
  std::uint64_t issue = t;  // slow paths get at slot.issue: what nothing points to stays in a register
  bool uses_float = false;  // most runs do not, and asking the host for its flags is slow
  PipelineStop awaited = PipelineStop::resume;
  [[maybe_unused]] Addr accessed = 0;
  [[maybe_unused]] bool has_access = false;

  if (is_where_it_left() && parts.resume.block != nullptr) {
    block = parts.resume.block;
    // Else it is left at its first instruction, which was not fetched: it is entered anew.
    if (line_of(block->pc) == parts.fetch_line) {
      insn = first = parts.resume.insn;
      if (t >= run_end) goto out;
      ENTER_FLOAT;
      // The L1 has refused the access already. Zero bounds send it to the slow path without a second look-up.
      const std::uint64_t asks = state.is_refused ? 0 : ~std::uint64_t{0};
      run_end &= asks;
      store_end &= asks;
      goto dispatch;
    }
    RUBATO_CHECK(parts.resume.insn == block->insns() && !state.is_refused,
                 "inside a block that was not fetched");
  } else {
    block = blocks.find(state.hart.pc);
    state.is_refused = false;
  }
enter_block:
  insn = first = block->insns();
  if (t >= run_end) goto out;
  // Nothing is fetched where there is no code: a wild jump ends at its page, not in the caches.
  if (const LineAddr line = line_of(block->pc); line != parts.fetch_line && insn->op != Op::fetch_fault) {
    if (state.task.attempt != nullptr && state.rights.lacks(block->pc)) {
      if (t < state.window.strict_end()) state.departure.leave_with_fault(FaultKind::fetch_access, block->pc);
      goto out;
    }
    if (insn->op != Op::host_call && !state.ports.l1i.hit(line, false)) {
      slot.issue = t;
      if (!fetch_slow(line, slot.issue)) goto out;
      READ_ENDS;
      t = slot.issue;
    }
    parts.fetch_line = line;
  }
  ENTER_FLOAT;

dispatch:
#define INSN (*insn)
#define REGS regs
#define STATE state.hart
#define PC (block->pc + insn->offset)
#define PROLOGUE                                                       \
  issue = t;                                                           \
  if (state.scoreboard.is_busy(t)) {                                   \
    issue = state.scoreboard.stall(*insn, t);                          \
    if (issue == Scoreboard::kUnknown) goto deferred;                  \
  }                                                                    \
  slot.done = issue + parts.latency[static_cast<unsigned>(insn->cls)]; \
  slot.source = ResultSource::core;
#define COMPLETE \
  RETIRE;        \
  SHOW
#define RETIRE   \
  t = issue + 1; \
  if (slot.done > t) state.scoreboard.expect(insn->rd, slot)
// Shows an instruction that is complete. SHOW_ACCESS before it records the address that it accessed.
#define SHOW                                                                 \
  if constexpr (is_observed) {                                               \
    if (state.ports.instructions != nullptr)                                 \
      state.show(*insn, PC, Cycle{issue}, has_access ? &accessed : nullptr); \
    has_access = false;                                                      \
  }
#define SHOW_ACCESS(address) \
  if constexpr (is_observed) accessed = (address), has_access = true
#define COUNT_BLOCK executed += static_cast<std::uint64_t>(insn - first) + 1
#define OBSERVE(event, ...)                                       \
  if constexpr (is_observed) {                                    \
    if (state.ports.observer != nullptr && !state.task.is_doomed) \
      state.ports.observer->event(state.core, __VA_ARGS__);       \
  }                                                               \
  static_assert(true)
// The access to memory of an instruction.
#define OBSERVE_ACCESS(event, address, ...)                          \
  OBSERVE(event, address, __VA_ARGS__);                              \
  if constexpr (kShown == Shown::watched_lines) {                    \
    if (state.ports.watch->has(address)) [[unlikely]]                \
      state.ports.observer->event(state.core, address, __VA_ARGS__); \
  }                                                                  \
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
                           issue < run_end && issue >= state.fills_until;                   \
  if (asks_##name && l1d.hit(line_of(address_##name), false)) {                             \
    slot.done = issue + state.l1_latency;                                                   \
    slot.source = ResultSource::l1;                                                         \
  } else {                                                                                  \
    if (!parts.lsu.load(address_##name, sizeof(T), slot, asks_##name)) LEAVE;               \
    READ_ENDS;                                                                              \
    issue = slot.issue;                                                                     \
    if (parts.lsu.skips()) goto skipped;                                                    \
  }                                                                                         \
  ++parts.counters.loads;                                                                   \
  const T name = memory.load<T>(address_##name);                                            \
  SHOW_ACCESS(address_##name);                                                              \
  OBSERVE_ACCESS(on_load, address_##name, sizeof(T), bits(name))
#define STORE(T, address, value)                                                                            \
  const Addr store_address = (address);                                                                     \
  slot.issue = issue;                                                                                       \
  if (!((store_address & (kLineBytes - 1)) + sizeof(T) <= kLineBytes && issue < store_end &&                \
        (memory.attributes(store_address) & Page::kWrite) != 0 && l1d.hit(line_of(store_address), true))) { \
    if (!parts.lsu.store(store_address, sizeof(T), slot)) LEAVE;                                            \
    READ_ENDS;                                                                                              \
    issue = slot.issue;                                                                                     \
    if (parts.lsu.skips()) goto skipped;                                                                    \
  }                                                                                                         \
  slot.done = issue + 1;                                                                                    \
  slot.source = ResultSource::core;                                                                         \
  ++parts.counters.stores;                                                                                  \
  SHOW_ACCESS(store_address);                                                                               \
  OBSERVE_ACCESS(on_store, store_address, sizeof(T));                                                       \
  memory.store<T>(store_address, value)
#define ATOMIC_ACCESS(T, a, kind)                                      \
  if (a % sizeof(T) != 0) TRAP(misaligned_atomic, a);                  \
  slot.issue = issue;                                                  \
  if (!parts.lsu.atomic(a, sizeof(T), insn->flags, kind, slot)) LEAVE; \
  READ_ENDS;                                                           \
  issue = slot.issue;                                                  \
  ++parts.counters.atomics
#define READ_ATOMIC(T, name)                                                   \
  skips_##name && !memory.allows(address_##name, sizeof(T), Page::kRead) ? T{} \
                                                                         : memory.load<T>(address_##name)
#define AMO(T, name, address, new_value)                            \
  const Addr address_##name = (address);                            \
  ATOMIC_ACCESS(T, address_##name, AccessKind::atomic);             \
  const bool skips_##name = parts.lsu.take_skip();                  \
  const T name = READ_ATOMIC(T, name);                              \
  SHOW_ACCESS(address_##name);                                      \
  OBSERVE_ACCESS(on_atomic, address_##name, sizeof(T), bits(name)); \
  if (!skips_##name) memory.store<T>(address_##name, new_value);    \
  if (state.ports.lock_tickets != nullptr && !skips_##name)         \
  state.ports.lock_tickets->on_atomic(state.core, *insn, PC, address_##name, bits(name), Cycle{issue})
#define LR(T, name, address)                                      \
  const Addr address_##name = (address);                          \
  ATOMIC_ACCESS(T, address_##name, AccessKind::reserve);          \
  const bool skips_##name = parts.lsu.take_skip();                \
  const T name = READ_ATOMIC(T, name);                            \
  SHOW_ACCESS(address_##name);                                    \
  OBSERVE_ACCESS(on_load, address_##name, sizeof(T), bits(name)); \
  parts.reservation.make(address_##name)
// A failing sc accesses nothing; one that may succeed first gets the line, and fails if that lost the
// reservation.
#define SC(T, name, address, value)                                                                 \
  const Addr address_##name = (address);                                                            \
  if (address_##name % sizeof(T) != 0) TRAP(misaligned_atomic, address_##name);                     \
  slot.issue = issue;                                                                               \
  if (issue >= state.window.strict_end()) LEAVE;                                                    \
  const bool drops_##name = state.rights.drops(address_##name);                                     \
  if (!drops_##name && parts.reservation.stands(address_##name)) {                                  \
    if (!parts.lsu.atomic(address_##name, sizeof(T), insn->flags, AccessKind::atomic, slot)) LEAVE; \
    READ_ENDS;                                                                                      \
    issue = slot.issue;                                                                             \
    ++parts.counters.atomics;                                                                       \
  }                                                                                                 \
  const bool stored_##name = drops_##name || parts.reservation.stands(address_##name);              \
  parts.reservation.end();                                                                          \
  if (stored_##name && !drops_##name) memory.store<T>(address_##name, value);                       \
  SHOW_ACCESS(address_##name);                                                                      \
  OBSERVE_ACCESS(on_store_conditional, address_##name, sizeof(T), stored_##name);                   \
  const std::uint64_t name = stored_##name ? 0 : 1
#define FENCE()                            \
  slot.issue = issue;                      \
  if (!parts.lsu.fence(slot.issue)) LEAVE; \
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
// Takes no time and does not count.
#define NOTE()                                                    \
  do {                                                            \
    if (!note(blocks, block->pc)) block = blocks.find(block->pc); \
    insn = first = block->first();                                \
    goto* labels[static_cast<unsigned>(insn->op)];                \
  } while (false)
#define JUMP(target)                                              \
  do {                                                            \
    const Addr to = (target);                                     \
    if (insn->flags & Insn::kLink) parts.predictor.call(NEXT_PC); \
    COMPLETE;                                                     \
    COUNT_BLOCK;                                                  \
    block = blocks.find_taken(*block, to);                        \
    goto enter_block;                                             \
  } while (false)
#define JUMP_INDIRECT(target_)                                                                  \
  do {                                                                                          \
    const Addr to = (target_);                                                                  \
    COMPLETE;                                                                                   \
    COUNT_BLOCK;                                                                                \
    ++parts.counters.branches;                                                                  \
    const bool right =                                                                          \
        (insn->flags & Insn::kReturn) ? parts.predictor.ret(to) : parts.predictor.jump(PC, to); \
    if (insn->flags & Insn::kLink) parts.predictor.call(NEXT_PC);                               \
    if (!right) {                                                                               \
      ++parts.counters.mispredicts;                                                             \
      t += parts.mispredict;                                                                    \
    }                                                                                           \
    block = blocks.find_taken(*block, to);                                                      \
    if (to == parts.watch_pc && regs[reg::sp] == parts.watch_sp) goto returned;                 \
    goto enter_block;                                                                           \
  } while (false)
#define BRANCH(condition, target)                                                          \
  do {                                                                                     \
    const bool taken = (condition);                                                        \
    COMPLETE;                                                                              \
    COUNT_BLOCK;                                                                           \
    ++parts.counters.branches;                                                             \
    /* Branch-free: the host cannot predict a branch that the guest mispredicts. */        \
    const std::uint64_t wrong = parts.predictor.branch(PC, taken) ? 0 : ~std::uint64_t{0}; \
    parts.counters.mispredicts -= wrong;                                                   \
    t += parts.mispredict & wrong;                                                         \
    if (taken) {                                                                           \
      block = blocks.find_taken(*block, target);                                           \
      goto enter_block;                                                                    \
    }                                                                                      \
    block = blocks.find_next(*block);                                                      \
    goto enter_block;                                                                      \
  } while (false)
#define TRAP(kind, address)                                     \
  do {                                                          \
    t = issue;                                                  \
    if (issue >= state.window.strict_end()) goto out;           \
    state.departure.leave_with_fault(FaultKind::kind, address); \
    goto out;                                                   \
  } while (false)
#define STOP_AT(reason)                          \
  do {                                           \
    t = issue;                                   \
    state.departure.stop = PipelineStop::reason; \
    goto stopped;                                \
  } while (false)
#define STOP_UNSEEN goto out
#define RUNNING_TASK state.task
#define READ_TIMESTAMP            \
  WRITE_RD(state.task.timestamp); \
  OBSERVE(on_task_read, static_cast<unsigned>(ReadSelector::timestamp), state.task.timestamp)
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
  state.departure.stop = PipelineStop::deferred;
  goto out;

skipped:  // a doomed run's load without right gives 0, its store is dropped
  parts.lsu.take_skip();
  ++(insn->is_load() ? parts.counters.loads : parts.counters.stores);
  if (parts.lsu.deferrals().is_taking()) {  // its observer sees it when it performs
    slot.issue = issue;
    [[maybe_unused]] const Addr address =
        regs[insn->rs1] + static_cast<std::uint64_t>(std::int64_t{insn->imm});
    [[maybe_unused]] const bool is_shown = parts.lsu.deferrals().is_forwarded();
    parts.lsu.deferrals().end(*insn, PC, slot);
    RETIRE;
    if constexpr (kShown != Shown::nothing) {
      if (is_shown) {
        SHOW_ACCESS(address);
        OBSERVE_ACCESS(on_load, address, insn->bytes, parts.lsu.deferrals().forwarded());
        SHOW;
      }
    }
    ++insn;
    goto* labels[static_cast<unsigned>(insn->op)];
  }
  if (insn->is_load()) WRITE_RD(loaded(insn->op, 0));
  slot.done = issue + 1;
  slot.source = ResultSource::core;
  COMPLETE;
  ++insn;
  goto* labels[static_cast<unsigned>(insn->op)];

returned:
  insn = first = block->insns();
  state.departure.stop = PipelineStop::returned;
  goto out;

stopped:
  parts.stopped_at = *insn;
  if constexpr (is_observed) parts.stopped_pc = PC;
  if (t >= state.window.strict_end()) awaited = std::exchange(state.departure.stop, PipelineStop::resume);

out:
  executed += static_cast<std::uint64_t>(insn - first);
  state.hart.pc = block->pc + insn->offset;
  state.cycle = Cycle{t};
  parts.counters.instructions += executed;
  if (uses_float) {
    fp::leave(state.hart);
    state.has_floats = true;
  }
  if (state.departure.stop == PipelineStop::fault) state.departure.fault.pc = state.hart.pc;
  parts.resume.insn = insn;
  parts.resume.block = block;
  parts.resume.pc = state.hart.pc;
  parts.resume.generation = state.ports.blocks->generation();
  parts.resume.stop = awaited;
  return state.departure.stop;
}

#pragma GCC diagnostic pop

}  // namespace rubato::chip
