// Bookings of a window core's issue ports (K68): a count a cycle for each class of ports, in a ring of
// cycles. An instruction takes the first cycle that has a port for it, however far others are booked. A
// division, or a square root, takes a divider besides; its port is free in the next cycle.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "chip/config/config.hpp"
#include "chip/core/latencies.hpp"
#include "chip/core/window/dividers.hpp"
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
  explicit IssuePorts(const CoreSection& core)
      : ports_{core.int_ports, core.fp_ports, core.mem_ports},
        latency_(latencies_of(core)),
        dividers_{Dividers(core.int_dividers), Dividers(core.fp_dividers)} {
    for (auto& ring : taken_) ring.resize(kCycles);
  }

  /// Takes a port of the class, and the unit that it needs alone. @returns when: the first cycle from `at` on
  /// that has both.
  std::uint64_t take(isa::InsnClass c, std::uint64_t at) {
    if (divides(c)) [[unlikely]]
      return take_divider(c, at);
    return take_port(c, at);
  }
  /// A booking of take() that is not used after all.
  void give_back(isa::InsnClass c, std::uint64_t at) {
    if (divides(c)) [[unlikely]]
      dividers_of(c).give_back(at, latency_[static_cast<unsigned>(c)]);
    give_back_port(c, at);
  }

 private:
  static constexpr std::uint64_t kCycles = 4096;
  static constexpr unsigned kCountBits = 8;
  static constexpr std::uint64_t kCountMask = (1U << kCountBits) - 1;

  static constexpr bool divides(isa::InsnClass c) {
    return c == isa::InsnClass::int_div || c == isa::InsnClass::fp_div || c == isa::InsnClass::fp_sqrt;
  }
  Dividers& dividers_of(isa::InsnClass c) { return dividers_[c == isa::InsnClass::int_div ? 0 : 1]; }
  [[gnu::noinline]] std::uint64_t take_divider(isa::InsnClass c, std::uint64_t at) {
    Dividers& dividers = dividers_of(c);
    if (dividers.are_pipelined()) return take_port(c, at);
    const std::uint64_t cycles = latency_[static_cast<unsigned>(c)];
    while (true) {
      const std::uint64_t idle = dividers.first(at, cycles);
      at = take_port(c, idle);
      if (at == idle || dividers.first(at, cycles) == at) break;
      give_back_port(c, at);
    }
    dividers.take(at, cycles);
    return at;
  }
  std::uint64_t take_port(isa::InsnClass c, std::uint64_t at) {
    const auto p = static_cast<unsigned>(port_of(c));
    for (;; ++at) {
      std::uint64_t& slot = taken_[p][at % kCycles];
      const std::uint64_t cycle = slot >> kCountBits;
      // The slot holds a cycle a whole ring later, which only chains of long latencies reach. Such an
      // instruction is not counted.
      if (cycle > at) return at;
      const std::uint64_t count = cycle == at ? slot & kCountMask : 0;
      if (count == ports_[p]) continue;
      slot = at << kCountBits | (count + 1);
      return at;
    }
  }
  void give_back_port(isa::InsnClass c, std::uint64_t at) {
    std::uint64_t& slot = taken_[static_cast<unsigned>(port_of(c))][at % kCycles];
    if (slot >> kCountBits == at && (slot & kCountMask) != 0) --slot;
  }

  std::array<std::uint32_t, 3> ports_;
  std::array<std::vector<std::uint64_t>, 3> taken_;  // cycle << kCountBits | how many
  Latencies latency_;
  std::array<Dividers, 2> dividers_;  // integer, floating point
};

}  // namespace rubato::chip
