// Callers by the prologues of their callees, for observers that ask often: one look-up and one load a caller,
// once a call has been seen. The code of a function in front of a call tells how far it has moved the stack
// pointer, and where it has stored its return address.
//
// The walk ends at a function without a symbol, or with a frame that its code alone does not tell: of
// variable size, or so large that one addi does not make it (above 2 KiB). CallChains finds some of those, by
// a search.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "chip/memory/address_space.hpp"
#include "chip/os/symbols.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class FrameWalk {
 public:
  /// A place behind a call, and the stack pointer there.
  struct Place {
    Addr pc = 0, sp = 0;
  };
  /// Both outlive it. The code of functions with symbols never changes.
  FrameWalk(const Symbols& symbols, const AddressSpace& memory) : symbols_(symbols), memory_(memory) {}

  /// The place behind the call of the function that `place` is in.
  std::optional<Place> caller_of(const Place& place);

 private:
  struct Frame {
    std::uint64_t bytes = 0;
    std::optional<std::uint64_t> return_address;  // above the stack pointer; nothing: the walk ends
  };
  Frame frame_at(Addr pc) const;

  const Symbols& symbols_;
  const AddressSpace& memory_;
  std::unordered_map<Addr, Frame> frames_;  // by the pc behind the call
};

}  // namespace rubato::chip
