// Warms caches while the program fast-forwards (C4, run.warm): every access brings its line where a timed one
// would, without time, traffic or statistics. Threads warm the caches of the core they would run on.
// SPDX-License-Identifier: MIT
#pragma once

#include "chip/os/fast_forward.hpp"
#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class WarmUp final : public FastForward::Observer {
 public:
  /// For a program that runs on `cores` cores from `first` on.
  WarmUp(MemorySystem& memory_system, CoreId first, std::uint32_t cores)
      : memory_system_(memory_system), first_(first), cores_(cores) {}

  /// The core, by the program's own numbers, that a thread stands for in fast-forward: one that its affinity
  /// names, if that names any.
  CoreId own_core_of(const Thread& thread) const {
    std::uint32_t own = static_cast<std::uint32_t>(thread.tid) % cores_;
    for (std::uint32_t i = 0; i < cores_ && !thread.may_run_on(CoreId{own}); ++i) own = (own + 1) % cores_;
    return CoreId{own};
  }
  void on_turn(const Thread& thread) override { core_ = CoreId{first_.value + own_core_of(thread).value}; }
  void on_data(Addr address, unsigned bytes, bool is_store) override {
    const AccessKind kind = is_store ? AccessKind::store : AccessKind::load;
    const LineAddr first = line_of(address), last = line_of(address + bytes - 1);
    if (first == last_line_ && last == first && is_store <= last_is_store_)
      return;  // warm already: most accesses
    memory_system_.warm(core_, first, kind);
    if (last != first) memory_system_.warm(core_, last, kind);
    last_line_ = last;
    last_is_store_ = is_store;
  }
  void on_fetch(Addr pc) override { memory_system_.warm(core_, line_of(pc), AccessKind::fetch); }

 private:
  MemorySystem& memory_system_;
  CoreId first_;
  std::uint32_t cores_;
  CoreId core_{};
  LineAddr last_line_{~std::uint64_t{0}};
  bool last_is_store_ = false;
};

}  // namespace rubato::chip
