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

  /// True if `a` is behind a call that may have led to `callee` (null: nobody knows where).
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

std::vector<std::string> callers(const Thread& thread, const Symbols& symbols, const AddressSpace& memory) {
  const Walk walk(symbols, memory);
  std::vector<std::string> names;
  const Symbols::Symbol* callee = symbols.at(thread.regs.pc);
  const auto is_done = [&] {
    return names.size() == kMost || (callee != nullptr && is_outermost(Symbols::name(*callee)));
  };
  const auto consider = [&](Addr a) {
    if (!walk.returns_from(a, callee)) return;
    const auto* symbol = symbols.at(a - 1);  // behind the call another function may begin
    if (symbol == nullptr || !symbol->is_function) return;
    const std::string& name = Symbols::name(*symbol);
    const bool is_recursion = callee != nullptr && name == Symbols::name(*callee);
    callee = symbol;
    if (!is_recursion) names.push_back(name);
  };
  if (!is_done()) consider(thread.regs.x[reg::ra]);
  const Addr sp = (thread.regs.x[reg::sp] + 7) & ~Addr{7};
  for (Addr a = sp; a < sp + kScanBytes && !is_done(); a += 8) {
    if (!memory.allows(a, 8, Page::kRead)) break;
    consider(memory.load<std::uint64_t>(a));
  }
  return names;
}

}  // namespace rubato::chip
