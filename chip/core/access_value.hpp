// The bytes of an access in guest memory, and what a load makes of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/isa/fp.hpp"
#include "chip/isa/fp_more.hpp"
#include "chip/isa/insn.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// Zero-extended.
inline std::uint64_t raw_load(const AddressSpace& memory, Addr address, unsigned bytes) {
  switch (bytes) {
    case 1:
      return memory.load<std::uint8_t>(address);
    case 2:
      return memory.load<std::uint16_t>(address);
    case 4:
      return memory.load<std::uint32_t>(address);
    default:
      return memory.load<std::uint64_t>(address);
  }
}

inline void raw_store(AddressSpace& memory, Addr address, unsigned bytes, std::uint64_t value) {
  switch (bytes) {
    case 1:
      return memory.store<std::uint8_t>(address, static_cast<std::uint8_t>(value));
    case 2:
      return memory.store<std::uint16_t>(address, static_cast<std::uint16_t>(value));
    case 4:
      return memory.store<std::uint32_t>(address, static_cast<std::uint32_t>(value));
    default:
      return memory.store<std::uint64_t>(address, value);
  }
}

template <class T>
std::uint64_t sign_extended(std::uint64_t raw) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<T>(raw)));
}

/// The register value of a load, from its bytes, zero-extended.
inline std::uint64_t loaded(isa::Op op, std::uint64_t raw) {
  switch (op) {
    case isa::Op::lb:
      return sign_extended<std::int8_t>(raw);
    case isa::Op::lh:
      return sign_extended<std::int16_t>(raw);
    case isa::Op::lw:
      return sign_extended<std::int32_t>(raw);
    case isa::Op::flh:
      return isa::fp::box_half(static_cast<std::uint16_t>(raw));
    case isa::Op::flw:
      return isa::fp::box(static_cast<std::uint32_t>(raw));
    default:
      return raw;
  }
}

inline AccessParts sum_of(const AccessParts& a, const AccessParts& b) {
  return {.l1 = a.l1 + b.l1,
          .l2 = a.l2 + b.l2,
          .llc = a.llc + b.llc,
          .memory = a.memory + b.memory,
          .network = a.network + b.network,
          .check = a.check + b.check};
}

}  // namespace rubato::chip
