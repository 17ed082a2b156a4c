// Watchpoint: every access to a range of memory, one line each, with the reader or writer, the time, the
// place and the value. It serves to examine the line that a report accuses. Tab-separated and compressed,
// like the trace of instructions. In fast-forward there are neither cycles nor cores: a line has `-` instead.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "chip/program/fast_forward_watch.hpp"
#include "chip/session/instruction_log.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// Bytes of guest memory: [first, first + bytes).
struct WatchedRange {
  Addr first = 0;
  std::uint64_t bytes = 0;
};

/// The range that `text` names: SYMBOL, all of it; SYMBOL+OFFSET or an address, the cache line that holds it;
/// either with :BYTES, so many from there. `find` gives a symbol's range.
/// @throws UsageError for anything else.
WatchedRange parse_watch(std::string_view text,
                         const std::function<std::optional<WatchedRange>(std::string_view)>& find);

class Watchpoint final : public InstructionLog, public UntimedObserver {
 public:
  struct Options : InstructionLog::Options {
    WatchedRange range{};
  };
  /// @throws UsageError if the file cannot be made.
  explicit Watchpoint(Options options);

  /// @throws UsageError if the disk is full.
  void on_instruction(const ExecutedInstruction& executed) override;
  void on_untimed_access(const UntimedAccess& access) override;

 private:
  /// `when` and `core` as the line has them; the values as far as they are known.
  void write(std::string_view when, std::string_view core, std::string_view of, const isa::Insn& insn,
             Addr pc, Addr address, std::optional<std::uint64_t> read, std::optional<std::uint64_t> written);

  WatchedRange range_;
};

}  // namespace rubato::chip
