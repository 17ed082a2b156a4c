// The queues of a window core: reorder buffer, load queue (of which only times are kept) and store queue; and
// whether they have room for the next instruction. If an entry is free in a known cycle, dispatch goes to
// that cycle. If not, it stalls.
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

struct WindowQueues {
  explicit WindowQueues(const CoreSection& core)
      : buffer(core.rob), commits(core), stores(core.store_buffer), store_entries(core.store_buffer) {}

  /// There is room for the instruction at the cycle of dispatch, which may have moved. False: stalled.
  bool make_room(const isa::Insn& insn, DispatchPoint& point, WindowStats& stats) {
    point.find_slot();
    if (insn.cls >= isa::InsnClass::fence || insn.cls == isa::InsnClass::atomic) return true;  // goes alone
    if (buffer.is_full()) return stall(point);
    wait_until(commits.free_from(buffer.tail()), point, stats.stalls_rob);
    if (insn.cls == isa::InsnClass::store) return has_store_entry() || make_store_room(point, stats);
    if (insn.cls != isa::InsnClass::load) return true;
    if (commits.has_all_loads()) return stall(point);
    wait_until(commits.load_free_from(), point, stats.stalls_lsq);
    return true;
  }

  ReorderBuffer buffer;
  CommitTimes commits;
  StoreQueue stores;
  std::uint32_t store_entries;

 private:
  static bool stall(DispatchPoint& point) {
    point.await_room();
    return false;
  }
  static void wait_until(std::uint64_t free, DispatchPoint& point, std::uint64_t& stalls) {
    if (free <= point.cycle()) return;
    stalls += free - point.cycle();
    point.go_to(free);
  }
  bool has_store_entry() const { return stores.size() + stores.written() < store_entries; }
  /// Not inline: with its loop inside, make_room() saves registers for each instruction.
  [[gnu::noinline]] bool make_store_room(DispatchPoint& point, WindowStats& stats) {
    while (!has_store_entry()) {
      stores.release(point.cycle());
      if (has_store_entry()) return true;
      if (stores.written() == 0) return stall(point);
      wait_until(stores.next_done(), point, stats.stalls_lsq);
    }
    return true;
  }
};

}  // namespace rubato::chip
