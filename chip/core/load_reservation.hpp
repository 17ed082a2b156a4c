// The reservation that lr makes for sc: the address in the hart, its line in the L1 and, for non-speculative
// tasks, its line among the chip's Reservations.
//
// Another process, or another mapping, may show the same shared file. Its stores use other lines, so no cache
// hears of them. There an sc also fails if the word has changed since the lr. A word that changed and changed
// back goes unseen, which no compare-and-swap can tell.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/cache/l1_cache.hpp"
#include "chip/conflict/reservations.hpp"
#include "chip/core/memory_rights.hpp"
#include "chip/core/running_task.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class LoadReservation {
 public:
  /// All outlive this. Without `others` only the L1 knows.
  LoadReservation(CoreId core, L1Cache& l1d, Reservations* others, const RunningTask& task,
                  const MemoryRights& rights, HartState& hart)
      : core_(core), l1d_(l1d), others_(others), task_(task), rights_(rights), hart_(hart) {}

  /// Reserves an address whose line is in the L1.
  void make(Addr address) {
    const LineAddr line = line_of(address);
    l1d_.reserve(line);
    if (task_.attempt == nullptr && others_ != nullptr && l1d_.has_marks() && !rights_.is_untracked(line))
      others_->make(core_, line);
    hart_.reservation = address;
    is_in_file_ = rights_.memory().file_views().shared_at(address) != nullptr;
    if (is_in_file_) [[unlikely]]
      word_ = word_of(address);
  }
  /// An sc to `address` succeeds.
  // A speculative task is atomic: an earlier task that wrote the line has aborted it, and a later task must
  // not make its sc fail. A later task must not make the sc of a non-speculative task fail either, though it
  // takes the line from the L1. Untracked memory is shared with all code that works on it (P32).
  bool stands(Addr address) const {
    if (hart_.reservation != address) return false;
    if (is_in_file_ && word_of(address) != word_) [[unlikely]]
      return false;
    const LineAddr line = line_of(address);
    const bool is_sure =
        !rights_.is_in_untracked_page(addr_of(line)) || task_.injected == CapsuleFault::sc_always_succeeds;
    return (task_.attempt != nullptr && is_sure) || l1d_.has_reservation(line) ||
           (others_ != nullptr && others_->stands(core_, line));
  }
  void end() {
    hart_.reservation = HartState::kNoReservation;
    l1d_.clear_reservation();
    if (others_ != nullptr) others_->end(core_);
  }
  /// A write to one of these lines that did not pass the caches, such as one by the kernel, ends the
  /// reservation.
  void lose(LineAddr first, LineAddr last) {
    if (hart_.reservation == HartState::kNoReservation) return;
    if (const LineAddr line = line_of(hart_.reservation); line >= first && line <= last) end();
  }

 private:
  std::uint64_t word_of(Addr address) const {
    return rights_.memory().load<std::uint64_t>(address & ~Addr{7});
  }

  CoreId core_;
  L1Cache& l1d_;
  Reservations* others_;
  const RunningTask& task_;
  const MemoryRights& rights_;
  HartState& hart_;
  bool is_in_file_ = false;
  std::uint64_t word_ = 0;
};

}  // namespace rubato::chip
