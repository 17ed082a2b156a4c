// The instructions of a window core that were not done when they were dispatched, in the order of the
// program, and the loads among them by the words that they read.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "chip/core/window/reorder_buffer.hpp"
#include "chip/core/window/store_queue.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class PendingEntries {
 public:
  /// `buffer` outlives this.
  PendingEntries(ReorderBuffer& buffer, std::uint32_t entries) : buffer_(buffer) {
    positions_.reserve(entries);
  }

  std::size_t size() const { return positions_.size(); }
  /// The position of the one at `index`.
  std::uint64_t operator[](std::size_t index) const { return positions_[index]; }
  auto begin() const { return positions_.begin(); }
  auto end() const { return positions_.end(); }

  /// The youngest instruction, `e`, is dispatched and not done.
  void add(WindowEntry& e) {
    e.is_listed = true;
    positions_.push_back(buffer_.tail() - 1);
    if (e.is_load()) loads_.add(e.address, e.insn.bytes);
  }
  /// The listed load is done.
  void end_load(const WindowEntry& e) { loads_.remove(e.address, e.insn.bytes); }
  /// The index of the first one at `position` or behind.
  std::size_t index_from(std::uint64_t position) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(positions_, position) - positions_.begin());
  }
  /// Forgets what is done, of those at `position` or behind. end_load() has been called for the loads.
  void erase_done(std::uint64_t position) {
    const auto first = positions_.begin() + static_cast<std::ptrdiff_t>(index_from(position));
    const auto gone =
        std::remove_if(first, positions_.end(), [this](std::uint64_t p) { return buffer_[p].is_done(); });
    positions_.erase(gone, positions_.end());
  }
  /// The youngest instruction, a load, is squashed.
  void drop_load(const WindowEntry& e) {
    if (!e.is_done()) end_load(e);
    behind_stores_ -= e.awaited_store != 0;
  }
  /// All from `position` on are squashed. drop_load() has been called for the loads.
  void drop_from(std::uint64_t position) {
    while (!positions_.empty() && positions_.back() >= position) positions_.pop_back();
  }

  /// The position of the youngest load before `position` that is not done and shares a byte with `e`; 0:
  /// none.
  std::uint64_t older_load_of(const WindowEntry& e, std::uint64_t position) const {
    // A listed load is one of those itself.
    const bool may_be = e.is_listed ? loads_.may_have_others(e.address, e.insn.bytes)
                                    : loads_.may_have(e.address, e.insn.bytes);
    return may_be ? find_older_load_of(e, position) : 0;
  }

  // ---- Loads that wait until the L1 has a store ----
  bool any_behind_stores() const { return behind_stores_ != 0; }
  void await_store(WindowEntry& e, std::uint64_t stamp) {
    e.awaited_store = stamp;
    ++behind_stores_;
  }
  void end_wait_for_store(WindowEntry& e) {
    e.awaited_store = 0;
    --behind_stores_;
  }

 private:
  /// Not inline: seldom called.
  [[gnu::noinline]] std::uint64_t find_older_load_of(const WindowEntry& e, std::uint64_t position) const {
    for (std::size_t i = index_from(position); i-- != 0;) {
      const WindowEntry& o = buffer_[positions_[i]];
      if (!o.is_load() || o.is_done()) continue;
      if (o.address < e.address + e.insn.bytes && e.address < o.address + o.insn.bytes) return positions_[i];
    }
    return 0;
  }

  ReorderBuffer& buffer_;
  std::vector<std::uint64_t> positions_;
  WordCounts loads_;  // not done
  std::uint64_t behind_stores_ = 0;
};

}  // namespace rubato::chip
