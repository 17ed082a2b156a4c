// Room for the next instruction of a window core: a slot of the cycle, an entry of the reorder buffer, and
// one of the load or the store queue. If an entry is free in a known cycle, dispatch goes to that cycle. If
// not, it stalls.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/config/config.hpp"
#include "chip/core/window/commit_times.hpp"
#include "chip/core/window/dispatch_point.hpp"
#include "chip/core/window/reorder_buffer.hpp"
#include "chip/core/window/store_queue.hpp"
#include "chip/core/window/window_stats.hpp"
#include "chip/isa/insn.hpp"

namespace rubato::chip {

class DispatchRoom {
 public:
  /// All outlive this.
  DispatchRoom(const CoreSection& core, DispatchPoint& point, const ReorderBuffer& buffer,
               const CommitTimes& commits, StoreQueue& stores, WindowStats& stats)
      : store_entries_(core.store_buffer),
        point_(point),
        buffer_(buffer),
        commits_(commits),
        stores_(stores),
        stats_(stats) {}

  /// There is room for the instruction at the cycle of dispatch, which may have moved. False: stalled.
  bool make(const isa::Insn& insn) {
    point_.find_slot();
    if (insn.cls >= isa::InsnClass::fence || insn.cls == isa::InsnClass::atomic) return true;  // goes alone
    if (buffer_.is_full()) return stall();
    wait_until(commits_.free_from(buffer_.tail()), stats_.stalls_rob);
    if (insn.cls == isa::InsnClass::store) return make_for_store();
    if (insn.cls != isa::InsnClass::load) return true;
    if (commits_.has_all_loads()) return stall();
    wait_until(commits_.load_free_from(), stats_.stalls_lsq);
    return true;
  }

 private:
  bool stall() {
    point_.await_room();
    return false;
  }
  void wait_until(std::uint64_t free, std::uint64_t& stalls) {
    if (free <= point_.cycle()) return;
    stalls += free - point_.cycle();
    point_.go_to(free);
  }
  bool has_store_entry() const { return stores_.size() + stores_.written() < store_entries_; }
  bool make_for_store() {
    while (!has_store_entry()) {
      stores_.release(point_.cycle());
      if (has_store_entry()) return true;
      if (stores_.written() == 0) return stall();
      wait_until(stores_.next_done(), stats_.stalls_lsq);
    }
    return true;
  }

  std::uint32_t store_entries_;
  DispatchPoint& point_;
  const ReorderBuffer& buffer_;
  const CommitTimes& commits_;
  StoreQueue& stores_;
  WindowStats& stats_;
};

}  // namespace rubato::chip
