// Marks of the instructions at which a program waits for a lock of capsules, takes and releases it
// (capsule::TicketLock; P16, P53, P104). They are in a section of the executable that is not loaded, so the
// program executes no instruction for them. A mark counts from before its instruction on.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "chip/isa/hart_state.hpp"
#include "chip/isa/insn.hpp"
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
  /// Whether the instruction draws the ticket of a lock, for which it waits next.
  bool is_draw(const isa::Insn& insn, Addr pc) const {
    if (insn.op != isa::Op::amoadd_w) return false;
    const auto next = marks_.upper_bound(pc);
    return next != marks_.end() && next->second == Kind::wanted;
  }
  /// The address at which a lock keeps the ticket that is served: behind its first word, the next ticket to
  /// be drawn.
  static Addr served_of(Addr lock) { return lock + sizeof(std::uint32_t); }
  bool empty() const { return marks_.empty(); }
  /// The lock that `hart` waits for, if it does: what the wait loads again and again.
  std::optional<Addr> awaited(const HartState& hart, const AddressSpace& memory) const;

 private:
  std::map<Addr, Kind> marks_;
};

}  // namespace rubato::chip
