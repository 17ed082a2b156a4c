// The instructions of a window core that were not done when they were dispatched, in the order of the
// program, and the loads among them by the words that they read.
// SPDX-License-Identifier: MIT
#pragma once

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
  /// Forgets what is done. end_load() has been called for the loads.
  void erase_done() {
    std::erase_if(positions_, [this](std::uint64_t position) { return buffer_[position].is_done(); });
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
    if (!loads_.may_have(e.address, e.insn.bytes)) return 0;
    for (auto i = positions_.rbegin(); i != positions_.rend(); ++i) {
      const WindowEntry& o = buffer_[*i];
      if (*i >= position || !o.is_load() || o.is_done()) continue;
      if (o.address < e.address + e.insn.bytes && e.address < o.address + o.insn.bytes) return *i;
    }
    return 0;
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
  ReorderBuffer& buffer_;
  std::vector<std::uint64_t> positions_;
  WordCounts loads_;  // not done
  std::uint64_t behind_stores_ = 0;
};

}  // namespace rubato::chip
