// Aborts and their causes (C25). For every aborted attempt: its cause, its task function, the function of the
// task that aborted it, the line they met in, and its lost cycles. Counts are exact; there is one record for
// each different (line, victim, aggressor, cause).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "chip/speculation/aborter.hpp"
#include "chip/stats/registry.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class AbortProfile {
 public:
  struct Count {
    std::uint64_t aborts = 0;
    std::uint64_t lost_cycles = 0;  ///< core cycles of those attempts, stalls and rollback not included
    Count& operator+=(const Count& other) {
      aborts += other.aborts;
      lost_cycles += other.lost_cycles;
      return *this;
    }
    bool operator==(const Count&) const = default;
  };
  /// A line in which attempts were aborted, with the functions that met there most often.
  struct Line {
    LineAddr line{};
    Addr victim = 0, by = 0;
    Count count{};
  };
  /// Attempts of `victim` that tasks of `by` aborted; 0: no task (a queue that was full, a system call).
  struct Functions {
    Addr victim = 0, by = 0;
    AbortCause cause{};
    Count count{};
  };

  /// Counts an aborted attempt. `line` is the conflict's, LineAddr{} for causes that know none.
  void add(AbortCause cause, Addr victim, Addr by, LineAddr line, std::uint64_t lost_cycles);

  const Count& of(AbortCause cause) const { return causes_[static_cast<unsigned>(cause)]; }
  /// The `most` lines that cost most cycles, then most aborts, then by address.
  std::vector<Line> lines(std::size_t most) const;
  /// How many different lines there are.
  std::size_t line_count() const;
  /// All pairs of functions by cause, in the same order.
  std::vector<Functions> functions() const;

  /// Registers chip.aborts.<cause> and chip.aborts.<cause>.cycles.
  void register_stats(StatRegistry& registry) const;

 private:
  struct Place {
    LineAddr line{};
    Addr victim = 0, by = 0;
    AbortCause cause{};
    bool operator==(const Place&) const = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& place) const;
  };

  std::array<Count, kAbortCauses> causes_{};
  std::unordered_map<Place, Count, PlaceHash> places_;  // results are sorted: its order is never seen
};

}  // namespace rubato::chip
