// The capsule vector: where capsule calls may lead (P10, P18, P21). One for the whole chip, set once by the
// program, in pages that no task can write. Espresso, Sec. IV-B, V-C.
//
// An entry is 8 bytes: its stub's distance from the begin of the vector; 0 between entries.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "chip/isa/hart_state.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class CapsuleVector {
 public:
  explicit CapsuleVector(const AddressSpace& memory) : memory_(memory) {}

  bool is_set() const { return end_ != 0; }
  Addr begin() const { return begin_; }
  std::uint64_t bytes() const { return end_ - begin_; }
  /// Executes `capsule.vector`. @returns the sentence of the program's error, empty if there is none.
  std::string set(Addr begin, std::uint64_t bytes);

  /// The code address of the entry at `a7`; 0: it is no entry.
  Addr target(Addr a7) const {
    if (a7 % 8 != 0 || a7 - begin_ >= end_ - begin_) return 0;
    const auto distance = memory_.load<std::uint64_t>(a7);
    return distance == 0 || distance >= end_ - begin_ ? 0 : begin_ + distance;
  }
  /// Why a call by `hart` cannot be made, as a sentence; empty if it can.
  std::string refusal(const HartState& hart) const;
  /// The call itself, which is not refused; `links`: ra becomes the address behind it.
  void enter(HartState& hart, bool links) const {
    if (links) hart.x[reg::ra] = hart.pc + 4;
    hart.pc = target(hart.x[reg::a7]);
    ++hart.capsule_depth;
  }
  /// `capsule.return`, at a depth above 0.
  static void leave(HartState& hart) {
    hart.pc = hart.x[reg::ra];
    --hart.capsule_depth;
  }

 private:
  const AddressSpace& memory_;
  Addr begin_ = 0, end_ = 0;
};

}  // namespace rubato::chip
