// Callers by return addresses; see call_stack.hpp.
// SPDX-License-Identifier: MIT
#include "chip/os/call_stack.hpp"

#include "chip/isa/decode.hpp"

namespace rubato::chip {
namespace {

using isa::Insn;
using isa::Op;

constexpr std::size_t kMost = 6;
constexpr std::uint64_t kScanBytes = 16384;

class Walk {
 public:
  Walk(const Symbols& symbols, const AddressSpace& memory) : symbols_(symbols), memory_(memory) {}

  /// True if `a` is behind a call that may have led to `callee`; null: the callee is unknown.
  bool returns_from(Addr a, const Symbols::Symbol* callee) const {
    if ((a & 1) != 0 || a < 4) return false;
    for (const unsigned length : {4U, 2U}) {
      const auto call = instruction_at(a - length, memory_);
      if (!call || call->length != length || call->rd != reg::ra) continue;
      if (call->op == Op::jalr) return true;
      if (call->op == Op::jal) return callee == nullptr || leads_to(a - length + offset(*call), *callee);
    }
    return false;
  }

 private:
  static Addr offset(const Insn& insn) { return static_cast<Addr>(static_cast<std::int64_t>(insn.imm)); }
  static bool is_in(Addr a, const Symbols::Symbol& function) {
    return a == function.address || a - function.address < function.size;
  }
  // In it, or in what jumps there at its end or to its part elsewhere; or in what has no name (a PLT).
  bool leads_to(Addr target, const Symbols::Symbol& callee) const {
    if (is_in(target, callee)) return true;
    const auto* function = symbols_.at(target);
    if (function == nullptr || !function->is_function) return true;
    for (Addr pc = function->address; is_in(pc, *function);) {
      const auto insn = instruction_at(pc, memory_);
      if (!insn || insn->length == 0) return false;
      const bool is_call_or_return = insn->rd == reg::ra || (insn->flags & Insn::kReturn) != 0;
      if (insn->op == Op::jalr && !is_call_or_return) return true;
      const bool is_direct =
          insn->cls == isa::InsnClass::branch || (insn->op == Op::jal && !is_call_or_return);
      if (is_direct && is_in(pc + offset(*insn), callee)) return true;
      pc += insn->length;
    }
    return false;
  }

  const Symbols& symbols_;
  const AddressSpace& memory_;
};

bool is_outermost(const std::string& name) { return name == "main" || name == "start_thread"; }

}  // namespace

std::optional<isa::Insn> instruction_at(Addr pc, const AddressSpace& memory) {
  if (!memory.allows(pc, 2, Page::kExecute)) return std::nullopt;
  std::uint32_t word = memory.load<std::uint16_t>(pc);
  if (isa::is_long(word)) {
    if (!memory.allows(pc, 4, Page::kExecute)) return std::nullopt;
    word = memory.load<std::uint32_t>(pc);
  }
  return isa::decode(word);
}

bool CallChains::returns_from(Addr a, const Symbols::Symbol* callee) {
  // No code lies before nearly every word of a stack.
  if ((a & 1) != 0 || a < 4 || !memory_.allows(a - 2, 2, Page::kExecute)) return false;
  if (generation_ != memory_.code_generation()) known_.clear();
  generation_ = memory_.code_generation();
  const auto [known, is_new] = known_.try_emplace({a, callee});
  if (is_new) known->second = Walk(symbols_, memory_).returns_from(a, callee);
  return known->second;
}

std::vector<Addr> CallChains::of(const HartState& regs) {
  std::vector<Addr> found;
  const Symbols::Symbol* callee = symbols_.at(regs.pc);
  const auto ends = [](const Symbols::Symbol* function) {
    return function != nullptr && is_outermost(Symbols::name(*function));
  };
  bool is_done = ends(callee);
  const auto consider = [&](Addr a) {
    if (!returns_from(a, callee)) return;
    const auto* symbol = symbols_.at(a - 1);  // behind the call another function may begin
    if (symbol == nullptr || !symbol->is_function) return;
    const bool is_recursion = callee != nullptr && Symbols::name(*symbol) == Symbols::name(*callee);
    callee = symbol;
    if (!is_recursion) found.push_back(a);
    is_done = found.size() == kMost || ends(callee);
  };
  if (!is_done) consider(regs.x[reg::ra]);
  const Addr sp = (regs.x[reg::sp] + 7) & ~Addr{7};
  for (Addr a = sp; a < sp + kScanBytes && !is_done; a += 8) {
    if (!memory_.allows(a, 8, Page::kRead)) break;
    consider(memory_.load<std::uint64_t>(a));
  }
  return found;
}

std::vector<std::string> callers(const Thread& thread, const Symbols& symbols, const AddressSpace& memory) {
  std::vector<std::string> names;
  for (const Addr a : CallChains(symbols, memory).of(thread.regs))
    names.push_back(Symbols::name(*symbols.at(a - 1)));
  return names;
}

}  // namespace rubato::chip
