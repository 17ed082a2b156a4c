// SPDX-License-Identifier: MIT
#include "chip/session/watchpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/error.hpp"
#include "chip/isa/disassemble.hpp"

namespace rubato::chip {
namespace {

/// Decimal, or hexadecimal behind 0x; the whole text.
std::optional<std::uint64_t> number(std::string_view text) {
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

const char* kind(const isa::Insn& insn) {
  if (insn.is_load() && insn.is_store()) return "atomic";
  return insn.is_store() ? "store" : "load";
}

/// amoswap to amomaxu; neither lr nor sc, which lie between them.
bool is_read_modify_write(const isa::Insn& insn) {
  return insn.is_load() && insn.is_store() && insn.op >= isa::Op::amoswap_w && insn.op <= isa::Op::amomaxu_d;
}

/// The value that a read-modify-write leaves in memory, in the lower bits. Values move to the upper end,
/// where words compare and wrap as double words do.
std::uint64_t written_by(const isa::Insn& insn, std::uint64_t found, std::uint64_t operand) {
  using isa::Op;
  const unsigned unused = 64 - 8U * insn.bytes;
  const std::uint64_t a = found << unused, b = operand << unused;
  const auto is_less = [&] { return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b); };
  const auto value = [&] {
    switch (insn.op) {
      case Op::amoadd_w:
      case Op::amoadd_d:
        return a + b;
      case Op::amoxor_w:
      case Op::amoxor_d:
        return a ^ b;
      case Op::amoand_w:
      case Op::amoand_d:
        return a & b;
      case Op::amoor_w:
      case Op::amoor_d:
        return a | b;
      case Op::amomin_w:
      case Op::amomin_d:
        return is_less() ? a : b;
      case Op::amomax_w:
      case Op::amomax_d:
        return is_less() ? b : a;
      case Op::amominu_w:
      case Op::amominu_d:
        return std::min(a, b);
      case Op::amomaxu_w:
      case Op::amomaxu_d:
        return std::max(a, b);
      default:
        return b;  // amoswap
    }
  };
  return value() >> unused;
}

}  // namespace

WatchedRange parse_watch(std::string_view text,
                         const std::function<std::optional<WatchedRange>(std::string_view)>& find) {
  std::string_view what = text;
  std::optional<std::uint64_t> bytes;
  // A symbol may have colons, as in a::b: only digits behind the last one are a size.
  if (const auto colon = what.rfind(':');
      colon != std::string_view::npos && colon != 0 && what[colon - 1] != ':') {
    bytes = number(what.substr(colon + 1));
    if (!bytes || *bytes == 0) throw UsageError("--watch {}: expected a number of bytes behind ':'", text);
    what = what.substr(0, colon);
  }
  WatchedRange range;
  bool is_whole = false;
  if (const auto address = number(what)) {
    range.first = *address;
  } else if (const auto symbol = find(what)) {
    range = *symbol;
    is_whole = range.bytes != 0;
  } else {
    const auto plus = what.rfind('+');
    const auto offset = plus == std::string_view::npos ? std::nullopt : number(what.substr(plus + 1));
    const auto base = offset ? find(what.substr(0, plus)) : std::nullopt;
    if (!base) {
      throw UsageError(
          "--watch {}: the program has no symbol '{}'; expected SYMBOL, SYMBOL+OFFSET or an address, with "
          ":BYTES or without",
          text, what);
    }
    range.first = base->first + *offset;
  }
  if (bytes) return {range.first, *bytes};
  if (is_whole) return range;
  return {range.first & ~Addr{kLineBytes - 1}, kLineBytes};
}

Watchpoint::Watchpoint(Options options)
    : InstructionLog(
          options, "the watched accesses",
          "cycle\tcore\tof\tkind\taddress\tsymbol\tbytes\tread\twritten\tpc\tfunction\tinstruction\n"),
      range_(options.range) {}

void Watchpoint::on_instruction(const ExecutedInstruction& executed) {
  const isa::Insn& insn = executed.insn;
  if (!executed.has_access || executed.address >= range_.first + range_.bytes ||
      executed.address + insn.bytes <= range_.first)
    return;
  // Registers are those behind the instruction: what a read-modify-write has written is known unless its
  // result has taken the operand's place. A failed sc writes nothing. What a load of x0 found need not be in
  // the sink's register, for it may have come later.
  const bool is_atomic = is_read_modify_write(insn);
  const bool reads = insn.is_load() && (is_atomic || insn.rd != isa::Insn::kSink);
  const bool stores = insn.is_store() && !insn.is_load();
  const bool is_conditional = stores && insn.rd != isa::Insn::kSink;
  if (is_conditional && executed.registers[insn.rd] != 0) return;
  std::optional<std::uint64_t> read, written;
  if (reads) read = executed.registers[insn.rd];
  if (stores) written = executed.registers[insn.rs2];
  if (is_atomic && insn.rd != insn.rs2) written = written_by(insn, *read, executed.registers[insn.rs2]);
  write(std::to_string(executed.issued.value), std::to_string(executed.core.value), occupant(executed.core),
        insn, executed.pc, executed.address, read, written);
}

void Watchpoint::on_untimed_access(const UntimedAccess& access) {
  const isa::Insn& insn = access.insn;
  const bool stores = insn.is_store() && !insn.is_load();
  const bool is_conditional = stores && insn.rd != isa::Insn::kSink;
  if (is_conditional && access.hart.reservation != access.address) return;
  const std::uint64_t operand = access.hart.registers()[insn.rs2];
  std::optional<std::uint64_t> read, written;
  if (insn.is_load()) read = access.memory;
  if (stores) written = operand;
  // As in detail.
  if (is_read_modify_write(insn) && insn.rd != insn.rs2) written = written_by(insn, access.memory, operand);
  write("-", "-", fmt::format("thread {}", access.thread), insn, access.pc, access.address, read, written);
}

void Watchpoint::write(std::string_view when, std::string_view core, std::string_view of,
                       const isa::Insn& insn, Addr pc, Addr address, std::optional<std::uint64_t> read,
                       std::optional<std::uint64_t> written) {
  const std::uint64_t mask = insn.bytes >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * insn.bytes) - 1;
  append(fmt::format("{}\t{}\t{}\t{}\t{:#x}\t{}\t{}\t{}\t{}\t{:#x}\t{}\t{}\n", when, core, of, kind(insn),
                     address, name_of(address), insn.bytes, read ? fmt::format("{:#x}", *read & mask) : "",
                     written ? fmt::format("{:#x}", *written & mask) : "", pc, name_of(pc),
                     isa::disassemble(insn, pc)));
}

}  // namespace rubato::chip
