// A core's deferred accesses (K11): loads and stores whose line messages have yet to bring, and which the
// core has gone on past. They perform when the line is there, those of a line in the order of the program,
// and so after each other: a load finds what the stores before it wrote. Invariant: the L1 lacks, for the
// first access of a line, the line or the right to it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "chip/isa/insn.hpp"
#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

struct DeferredAccess {
  LineAddr line;
  Addr address, pc;
  std::uint64_t value;  ///< of a store: in its lowest bytes
  Cycle issued;
  isa::Insn insn;
  AccessParts waited;     ///< until the line was there
  bool has_entry;         ///< of the load or store buffer: the line's first access, for which the core asked
  std::uint64_t seen_as;  ///< by the observer, if there is one

  bool is_store() const { return insn.is_store(); }
  bool overlaps(Addr a, unsigned bytes) const { return a < address + insn.bytes && address < a + bytes; }
  bool covers(Addr a, unsigned bytes) const { return address <= a && a + bytes <= address + insn.bytes; }
};

class DeferredAccesses {
 public:
  DeferredAccesses() { entries_.reserve(kMost); }

  bool any() const { return !entries_.empty(); }
  bool is_full() const { return entries_.size() == kMost; }
  bool has(LineAddr line) const {
    for (const DeferredAccess& e : entries_)
      if (e.line == line) return true;
    return false;
  }
  bool has_any_in(Addr begin, Addr end) const {
    for (const DeferredAccess& e : entries_)
      if (e.address < end && begin < e.address + e.insn.bytes) return true;
    return false;
  }
  /// The youngest store to some of these bytes, or null.
  const DeferredAccess* store_to(Addr address, unsigned bytes) const {
    for (auto e = entries_.rbegin(); e != entries_.rend(); ++e)
      if (e->is_store() && e->overlaps(address, bytes)) return &*e;
    return nullptr;
  }

  void add(const DeferredAccess& access) { entries_.push_back(access); }
  /// In the order of the program.
  std::vector<DeferredAccess>& entries() { return entries_; }
  const std::vector<DeferredAccess>& entries() const { return entries_; }

 private:
  static constexpr std::size_t kMost = 64;
  std::vector<DeferredAccess> entries_;
};

}  // namespace rubato::chip
