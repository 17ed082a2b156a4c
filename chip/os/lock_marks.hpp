// Where a program's code waits for a lock of capsules, takes and releases it (capsule::TicketLock; P16, P53,
// P104): a section of the executable that is not loaded, and that names instructions, so that programs do
// nothing for it. A mark counts from before its instruction on.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "chip/isa/hart_state.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class LockMarks {
 public:
  /// As in include/rubato/engine/chip_capsule.hpp.
  enum class Kind : std::uint64_t { released, taken, wanted };

  void add(Addr pc, Kind kind) { marks_.emplace(pc, kind); }
  std::optional<Kind> at(Addr pc) const {
    const auto found = marks_.find(pc);
    return found == marks_.end() ? std::nullopt : std::optional(found->second);
  }
  /// The lock that `hart` waits for, if it does: what the wait loads again and again.
  std::optional<Addr> awaited(const HartState& hart, const AddressSpace& memory) const;

 private:
  std::map<Addr, Kind> marks_;
};

}  // namespace rubato::chip
