// The instructions of a window core that have been dispatched and not committed, and what of those before
// them is still of use: a ring by position. Positions count dispatched instructions, from 1; those of
// instructions that were squashed are used again.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "chip/core/branch_predictor.hpp"
#include "chip/isa/insn.hpp"
#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

struct WindowEntry {
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};  ///< when something will happen
  /// - hangs: waits for operands whose time is unknown.
  /// - behind: waits for an older load of the same bytes.
  /// - issued: a load that waits for its cycle.
  /// - waiting: waits for messages.
  /// - done: its completion time is known; a load has performed.
  enum class State : std::uint8_t { hangs, behind, issued, waiting, done };

  isa::Insn insn;
  Addr pc;
  Addr address;             ///< of a load or store
  std::uint64_t value;      ///< of its register, behind it
  std::uint64_t old_value;  ///< of its register, before it
  std::uint64_t old_ready, old_producer;
  std::uint64_t dispatched, issued, complete;
  std::uint64_t floor;  ///< the earliest issue, by the dispatch and the operands whose time was known
  std::uint64_t stamp;  ///< its own, of all dispatched so far
  std::array<std::uint64_t, 4> producers;  ///< positions; 0: none. The last one's is a store that it reads
  std::uint64_t asked;                     ///< waiting: since when
  std::uint64_t blocker;                   ///< behind: the position of that load
  std::uint64_t awaited_store;             ///< stamp of a store that the L1 must have first; 0: none
  AccessParts parts;                       ///< where a wait for it goes
  BranchPredictor::Path path;              ///< of the predictor, before it
  State state;
  bool is_listed;        ///< among those that were not done when they were dispatched
  bool awaits_decision;  ///< waiting: for the decision on a conflict
  bool is_alone;         ///< went alone: an access of its has been made
  bool is_mispredicted;
  bool has_flags;            ///< computes in floating point
  std::uint8_t float_flags;  ///< of fcsr, before it

  bool is_load() const { return insn.cls == isa::InsnClass::load; }
  bool is_store() const { return insn.cls == isa::InsnClass::store; }
  bool is_done() const { return state == State::done; }
};

class ReorderBuffer {
 public:
  // Twice the entries: the producers of an entry, at most one window older, stay readable until the entry is
  // gone itself.
  explicit ReorderBuffer(std::uint32_t entries)
      : size_(entries), entries_(std::bit_ceil(std::size_t{2} * entries + 2)), mask_(entries_.size() - 1) {}

  std::uint64_t head() const { return head_; }
  std::uint64_t tail() const { return tail_; }
  bool is_empty() const { return head_ == tail_; }
  bool is_full() const { return tail_ - head_ == size_; }
  WindowEntry& operator[](std::uint64_t position) { return entries_[position & mask_]; }
  const WindowEntry& operator[](std::uint64_t position) const { return entries_[position & mask_]; }
  bool has(std::uint64_t position) const { return position >= head_ && position < tail_; }
  WindowEntry& front() { return (*this)[head_]; }
  void add() { ++tail_; }
  void retire() { ++head_; }
  /// An instruction goes through without an entry.
  void pass() { head_ = ++tail_; }
  void drop() { --tail_; }

 private:
  std::uint32_t size_;
  std::uint64_t head_ = 1, tail_ = 1;
  std::vector<WindowEntry> entries_;
  std::uint64_t mask_;
};

}  // namespace rubato::chip
