// SPDX-License-Identifier: MIT
#include "chip/session/watchpoint.hpp"

#include <fmt/format.h>

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
  // An atomic instruction writes what it computes, which no register holds: its text says what. A failed sc
  // writes nothing.
  const bool reads = insn.is_load() && insn.rd != isa::Insn::kSink;
  const bool stores = insn.is_store() && !insn.is_load();
  const bool is_conditional = stores && insn.rd != isa::Insn::kSink;
  if (is_conditional && executed.registers[insn.rd] != 0) return;
  write(std::to_string(executed.issued.value), std::to_string(executed.core.value), occupant(executed.core),
        insn, executed.pc, executed.address,
        reads ? std::optional(executed.registers[insn.rd]) : std::nullopt,
        stores ? std::optional(executed.registers[insn.rs2]) : std::nullopt);
}

void Watchpoint::on_untimed_access(const UntimedAccess& access) {
  const isa::Insn& insn = access.insn;
  const bool stores = insn.is_store() && !insn.is_load();
  const bool is_conditional = stores && insn.rd != isa::Insn::kSink;
  if (is_conditional && access.hart.reservation != access.address) return;
  write("-", "-", fmt::format("thread {}", access.thread), insn, access.pc, access.address,
        insn.is_load() ? std::optional(access.memory) : std::nullopt,
        stores ? std::optional(access.hart.registers()[insn.rs2]) : std::nullopt);
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
