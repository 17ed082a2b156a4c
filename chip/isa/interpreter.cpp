// The functional interpreter: semantics.inc over direct guest memory, threaded by computed goto. Costs about
// 13 host instructions a guest instruction: dispatch is one load and one jump, a block change adds a test of
// the budget and a chained pointer; nothing is counted an instruction.
// SPDX-License-Identifier: MIT
#include "chip/isa/interpreter.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "chip/isa/semantics_macros.hpp"

namespace rubato::chip::isa {
namespace {

/// The first byte of an access that its rights do not cover.
Addr offending(const AddressSpace& memory, Addr a, std::uint8_t rights) {
  if ((memory.attributes(a) & rights) != rights) return a;
  return (a | (AddressSpace::kPageBytes - 1)) + 1;
}

/// `value`, of which the compiler does not know how it was computed: it keeps it in a register, instead of
/// computing it anew at each instruction.
template <class T>
T* kept(T* value) {
  asm("" : "+r"(value));
  return value;
}

template <class T>
T load_from(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void store_to(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

#define INSN (*insn)
#define REGS regs
#define STATE HartState::of(regs)
#define PC (block->pc + insn->offset)

#define TRAP(kind_, address_)              \
  do {                                     \
    result_.fault.kind = FaultKind::kind_; \
    result_.fault.address = address_;      \
    goto trapped;                          \
  } while (false)
#define EVENT(kind_)                    \
  do {                                  \
    result_.reason = StopReason::kind_; \
    goto stopped;                       \
  } while (false)
#define TASK(name_) EVENT(task)

// Rotated by its alignment, an address is small only if it is aligned and within the space: the access is
// then in one page. Others ask for both ends.
#define CHECK_ACCESS(bytes_, rights_, kind_)                                                 \
  constexpr int access_shift = std::countr_zero(std::uint64_t{bytes_});                      \
  if (const std::uint64_t rotated = std::rotr(access_address, access_shift);                 \
      rotated >> (AddressSpace::kBits - access_shift) != 0 ||                                \
      (pages[rotated >> (AddressSpace::kPageBits - access_shift)] & (rights_)) != (rights_)) \
    if (!memory_->allows(access_address, bytes_, rights_))                                   \
  TRAP(kind_, offending(*memory_, access_address, rights_))
#define CHECK_ATOMIC(bytes_, rights_, kind_)                                         \
  if ((access_address & ((bytes_)-1)) != 0) TRAP(misaligned_atomic, access_address); \
  CHECK_ACCESS(bytes_, rights_, kind_)

#define OBSERVE(bytes_, is_store_) \
  if constexpr (is_observed) observer_->on_data(access_address, bytes_, is_store_)

#define LOAD(T, name_, address_)                     \
  const Addr access_address = address_;              \
  CHECK_ACCESS(sizeof(T), Page::kRead, load_access); \
  OBSERVE(sizeof(T), false);                         \
  const T name_ = load_from<T>(base + access_address)
#define STORE(T, address_, value_)                     \
  const Addr access_address = address_;                \
  CHECK_ACCESS(sizeof(T), Page::kWrite, store_access); \
  OBSERVE(sizeof(T), true);                            \
  store_to<T>(base + access_address, value_)
#define AMO(T, name_, address_, new_value_)                          \
  const Addr access_address = address_;                              \
  CHECK_ATOMIC(sizeof(T), Page::kRead | Page::kWrite, store_access); \
  OBSERVE(sizeof(T), true);                                          \
  const T name_ = load_from<T>(base + access_address);               \
  store_to<T>(base + access_address, new_value_)
#define LR(T, name_, address_)                         \
  const Addr access_address = address_;                \
  CHECK_ATOMIC(sizeof(T), Page::kRead, load_access);   \
  OBSERVE(sizeof(T), false);                           \
  const T name_ = load_from<T>(base + access_address); \
  STATE.reservation = access_address
// Without a reservation nothing is accessed, so no right is needed: as in detail. The observer comes before
// the reservation is looked at, as a replay sets it there.
#define SC(T, name_, address_, value_)                                                  \
  const Addr access_address = address_;                                                 \
  if ((access_address & (sizeof(T) - 1)) != 0) TRAP(misaligned_atomic, access_address); \
  if (STATE.reservation == access_address) {                                            \
    CHECK_ACCESS(sizeof(T), Page::kWrite, store_access);                                \
  }                                                                                     \
  OBSERVE(sizeof(T), true);                                                             \
  const std::uint64_t name_ = STATE.reservation != access_address;                      \
  if (name_ == 0) store_to<T>(base + access_address, value_);                           \
  STATE.reservation = HartState::kNoReservation

#define FENCE() static_cast<void>(0)
#define READ_COUNTER(number_) \
  counters_.read_counter(static_cast<unsigned>(number_), static_cast<std::uint64_t>(start - remaining) - 1)

#define DISPATCH goto* table[static_cast<unsigned>(insn->op)]
#define ENTER(block_)                                          \
  do {                                                         \
    block = block_;                                            \
    if (remaining <= 0) goto out_of_budget;                    \
    remaining -= block->count;                                 \
    insn = block->insns();                                     \
    if constexpr (is_observed) observer_->on_fetch(block->pc); \
    DISPATCH;                                                  \
  } while (false)
// The target of a direct jump never changes: once linked it is not computed again.
#define JUMP(target_) ENTER(block->taken != nullptr ? block->taken : blocks_->find_taken(*block, target_))
#define JUMP_INDIRECT(target_) ENTER(blocks_->find_taken(*block, target_))
#define NEXT_BLOCK() ENTER(blocks_->find_next(*block))
#define NOTE()                                                                      \
  do {                                                                              \
    if (!blocks_->show_note(block->pc, STATE, 0)) block = blocks_->find(block->pc); \
    insn = block->first();                                                          \
    DISPATCH;                                                                       \
  } while (false)
#define BRANCH(condition_, target_) \
  if (condition_)                   \
    JUMP(target_);                  \
  else                              \
    NEXT_BLOCK()

template <bool is_observed>
RunResult Interpreter::execute(HartState& hart, std::uint64_t budget) {
  static const void* const labels[] = {
#define RUBATO_INSN(name, ...) &&op_##name,
#include "chip/isa/semantics.inc"
#undef RUBATO_INSN
  };
  result_ = {};
  const auto start = static_cast<std::int64_t>(budget);
  std::int64_t remaining = start;
  blocks_->synchronize();
  hart.reservation = HartState::kNoReservation;
  fp::enter();

  // In registers, beside `insn` and `block`: what is used seldom is not.
  std::uint64_t* const regs = kept(hart.registers());
  std::byte* const base = kept(memory_->host(0));
  const std::uint8_t* const pages = kept(memory_->attribute_table());
  const void* const* const table = kept(labels);
  Block* block;
  const Insn* insn;
  ENTER(blocks_->find(hart.pc));

#define RUBATO_INSN(name, ...) \
  op_##name : {                \
    __VA_ARGS__;               \
    ++insn;                    \
    DISPATCH;                  \
  }
#include "chip/isa/semantics.inc"
#undef RUBATO_INSN

out_of_budget:
  fp::leave(STATE);
  STATE.pc = block->pc;
  result_.instructions = static_cast<std::uint64_t>(start - remaining);
  return result_;

trapped:
  result_.reason = StopReason::fault;
  result_.fault.pc = PC;
stopped:
  fp::leave(STATE);
  STATE.pc = PC;
  result_.insn = *insn;
  result_.instructions = static_cast<std::uint64_t>(start - remaining);
  // The block was counted as a whole on entry; what stopped it counts only if the caller has but to complete
  // it. A region is entered by executing its instruction again.
  if (result_.reason == StopReason::fault || insn->op == Op::task_region)
    result_.instructions -= block->count - static_cast<std::uint64_t>(insn - block->first());
  return result_;
}

template RunResult Interpreter::execute<false>(HartState&, std::uint64_t);
template RunResult Interpreter::execute<true>(HartState&, std::uint64_t);

}  // namespace rubato::chip::isa
