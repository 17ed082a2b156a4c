// The ready times of a core's results, by register, and the source that an earlier reader waits for.
// Registers have the uniform numbers of isa::Insn; the sink is always ready.
//
// Invariant: busy_until_ is no earlier than any ready_. Between the answer to a deferred access and settle()
// it may be later than the latest.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "chip/core/stall_account.hpp"
#include "chip/isa/insn.hpp"
#include "chip/vocabulary/memory_system.hpp"

namespace rubato::chip {

/// The source of a register's result: the stall of a reader is charged to it.
enum class ResultSource : std::uint8_t { core, l1, access };

/// When an instruction issues and its result is ready; slow paths move both.
struct IssueSlot {
  std::uint64_t issue, done;
  ResultSource source;
  const AccessParts* parts;  ///< of an access
};

class Scoreboard {
 public:
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};  ///< when something will be ready

  /// Stalls are charged to `stalls`, which outlives this.
  explicit Scoreboard(StallAccount& stalls) : stalls_(stalls) {}

  /// At least one register may not be ready at `at`.
  [[gnu::always_inline]] bool is_busy(std::uint64_t at) const { return at < busy_until_; }
  /// When an instruction that could issue at `issue` finds its registers ready, the wait being charged;
  /// kUnknown: a deferred access will say, and nothing is charged.
  std::uint64_t stall(const isa::Insn& insn, std::uint64_t issue) {
    const std::uint64_t ready =
        std::max(std::max(ready_[insn.rs1], ready_[insn.rs2]), std::max(ready_[insn.rs3], ready_[insn.rd]));
    return ready <= issue ? issue : charge_stall(insn, issue);
  }
  /// The result of an instruction that has issued will be ready later than the next one issues.
  [[gnu::always_inline]] void expect(unsigned rd, const IssueSlot& slot) {
    ready_[rd] = slot.done;
    source_[rd] = slot.source;
    if (slot.source == ResultSource::access) producers_[rd] = *slot.parts;
    ready_[isa::Insn::kSink] = 0;
    busy_until_ = std::max(busy_until_, slot.done);
  }
  /// Other instructions begin at `at`: they wait for no result of those so far.
  void clear(std::uint64_t at) {
    // Results that are ready before `at` need no clearing.
    if (busy_until_ > at) ready_.fill(0);
    busy_until_ = 0;
  }

  /// The registers x that deferred accesses will bring, a bit each.
  std::uint32_t awaited() const {
    std::uint32_t found = 0;
    for (unsigned x = 0; x < 32; ++x) found |= std::uint32_t{ready_[x] == kUnknown} << x;
    return found;
  }

  // Deferred accesses; settle() follows.
  /// An access has brought the result of `rd`, which is not the sink.
  void bring(unsigned rd, std::uint64_t ready, const AccessParts& parts) {
    ready_[rd] = ready;
    source_[rd] = ResultSource::access;
    producers_[rd] = parts;
  }
  /// The access that was to bring the result of `rd` is gone.
  void forget(unsigned rd) { ready_[rd] = 0; }
  void settle() { busy_until_ = *std::max_element(ready_.begin(), ready_.end()); }

 private:
  static constexpr unsigned kRegisters = 65;  // of insn.hpp: x, f, sink

  /// Charges an instruction whose registers are ready later than `issue`. @returns the time when they are
  /// ready.
  [[gnu::noinline]] std::uint64_t charge_stall(const isa::Insn& insn, std::uint64_t issue);

  std::uint64_t busy_until_ = 0;  // every register is ready from here on
  StallAccount& stalls_;
  std::array<ResultSource, kRegisters> source_{};
  std::array<std::uint64_t, kRegisters> ready_{};
  std::array<AccessParts, kRegisters> producers_{};
};

}  // namespace rubato::chip
