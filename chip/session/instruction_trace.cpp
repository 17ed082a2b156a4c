// SPDX-License-Identifier: MIT
#include "chip/session/instruction_trace.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string>

#include "chip/isa/disassemble.hpp"

namespace rubato::chip {

InstructionTrace::InstructionTrace(Options options)
    : InstructionLog(options, "the trace of instructions",
                     "cycle\tcore\tof\tpc\tfunction\tinstruction\tresult\taddress\n"),
      from_(options.from),
      to_(options.to) {}

void InstructionTrace::on_instruction(const ExecutedInstruction& executed) {
  if (executed.issued < from_ || executed.issued >= to_) return;
  const isa::Insn& insn = executed.insn;
  std::string line;
  fmt::format_to(std::back_inserter(line), "{}\t{}\t{}\t{:#x}\t{}\t{}\t", executed.issued.value,
                 executed.core.value, occupant(executed.core), executed.pc, name_of(executed.pc),
                 isa::disassemble(insn, executed.pc));
  if (insn.rd != isa::Insn::kSink) {
    fmt::format_to(std::back_inserter(line), "{} = {:#x}", isa::register_name(insn.rd),
                   executed.registers[insn.rd]);
  }
  line += '\t';
  if (executed.has_access) fmt::format_to(std::back_inserter(line), "{:#x}", executed.address);
  line += '\n';
  append(line);
}

}  // namespace rubato::chip
