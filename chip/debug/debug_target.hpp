// The simulated machine at a standstill, as a debugger sees it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "chip/isa/hart_state.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class DebugTarget {
 public:
  virtual ~DebugTarget() = default;
  /// The threads that have not exited.
  virtual std::vector<int> threads() const = 0;
  /// Null: there is no such thread.
  virtual const HartState* registers(int tid) const = 0;
  /// False: this thread's registers cannot be changed now.
  virtual bool set_registers(int tid, const HartState& registers) = 0;
  /// How many of the bytes from `address` on are mapped, and read; it stops at the first that is not.
  virtual std::size_t read(Addr address, std::span<std::byte> bytes) const = 0;
  /// Writes regardless of the pages' rights. False, and nothing is written: not all of it is mapped.
  virtual bool write(Addr address, std::span<const std::byte> bytes) = 0;
};

}  // namespace rubato::chip
