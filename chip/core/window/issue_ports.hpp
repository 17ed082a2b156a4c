// Which cycles the ports of a window core are taken in (K68): a count a cycle for each class of ports, in a
// ring of cycles. An instruction takes the first cycle that has a port for it, however far others are booked.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "chip/config/config.hpp"
#include "chip/isa/insn.hpp"

namespace rubato::chip {

enum class PortClass : std::uint8_t { integer, floating, memory };

constexpr PortClass port_of(isa::InsnClass c) {
  if (c == isa::InsnClass::load || c == isa::InsnClass::store || c == isa::InsnClass::atomic)
    return PortClass::memory;
  return c >= isa::InsnClass::fp_add && c <= isa::InsnClass::fp_misc ? PortClass::floating
                                                                     : PortClass::integer;
}

class IssuePorts {
 public:
  explicit IssuePorts(const CoreSection& core) : ports_{core.int_ports, core.fp_ports, core.mem_ports} {
    for (auto& ring : taken_) ring.resize(kCycles);
  }

  /// Takes a port of the class. @returns when: the first cycle from `at` on that has one.
  std::uint64_t take(isa::InsnClass c, std::uint64_t at) {
    const auto p = static_cast<unsigned>(port_of(c));
    for (;; ++at) {
      std::uint64_t& slot = taken_[p][at % kCycles];
      const std::uint64_t cycle = slot >> kCountBits;
      // Of a cycle a whole ring later, which only chains of long latencies reach: not counted here.
      if (cycle > at) return at;
      const std::uint64_t count = cycle == at ? slot & kCountMask : 0;
      if (count == ports_[p]) continue;
      slot = at << kCountBits | (count + 1);
      return at;
    }
  }
  /// What was taken is not used.
  void give_back(isa::InsnClass c, std::uint64_t at) {
    std::uint64_t& slot = taken_[static_cast<unsigned>(port_of(c))][at % kCycles];
    if (slot >> kCountBits == at && (slot & kCountMask) != 0) --slot;
  }

 private:
  static constexpr std::uint64_t kCycles = 4096;
  static constexpr unsigned kCountBits = 8;
  static constexpr std::uint64_t kCountMask = (1U << kCountBits) - 1;

  std::array<std::uint32_t, 3> ports_;
  std::array<std::vector<std::uint64_t>, 3> taken_;  // cycle << kCountBits | how many
};

}  // namespace rubato::chip
