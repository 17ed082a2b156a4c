// The ideal memory allocator (run.alloc=ideal): per-core pools inside the simulator, without time. Espresso,
// Sec. VI-A "Memory allocation". The calls of a speculative task can be undone:
// - allocate: the block returns to its pool when the attempt aborts.
// - free: another task can get the block when the attempt commits. Until then it stays allocated for all
//   earlier tasks; if such a task frees it too, the attempt has misspeculated and is aborted.
//
// Non-speculative tasks and threads act at once. A block that a realloc moved away from is kept until its
// thread's next call, for the contents are copied after the call.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "chip/alloc/block_heap.hpp"
#include "chip/speculation/aborter.hpp"
#include "chip/speculation/attempt.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class IdealAllocator {
 public:
  /// Speculative tasks allocate at most this much a call: more might be mispeculation (as Sec. IV-D).
  static constexpr std::uint64_t kMostSpeculative = std::uint64_t{16} << 20;

  /// The caller of an allocator function.
  struct Caller {
    CoreId core{};               ///< whose pool serves it
    int thread = 0;              ///< tid
    Attempt* attempt = nullptr;  ///< null: not speculative
    Cycle now{};
  };
  enum class FreeOutcome : std::uint8_t {
    done,
    not_a_block,
    freed_before,
  };

  /// Pools lie in free ranges of [lowest, limit) of `memory`, which outlives the allocator.
  IdealAllocator(AddressSpace& memory, std::uint32_t cores, Addr lowest, Addr limit)
      : heap_(memory, cores, lowest, limit) {}
  /// `handler` aborts attempts. Before anything speculates.
  void attach(Aborter& handler) { handler_ = &handler; }

  /// Each call of a thread starts with this: lets go of the block that its last realloc moved away from.
  void begin_call(const Caller& caller);
  /// Address 0: no memory.
  BlockHeap::Block allocate(const Caller& caller, std::uint64_t bytes,
                            std::uint64_t alignment = BlockHeap::kAlignment);
  FreeOutcome free(const Caller& caller, Addr address) { return free(caller, address, false); }
  /// As free(), but the block keeps its contents until the thread's next call.
  FreeOutcome free_moved(const Caller& caller, Addr address) { return free(caller, address, true); }
  /// Bytes of a block that is in use; 0 for anything else.
  std::uint64_t usable(Addr address) const {
    return heap_.state(address) == BlockHeap::State::in_use ? heap_.size(address) : 0;
  }

  /// The attempt committed, or was promoted and goes on: what it did to the heap is permanent.
  void on_commit(const Attempt& attempt);
  /// The attempt aborted or was stopped by an exception: what it did to the heap is undone. Calling it for
  /// both is right.
  void on_abort(const Attempt& attempt);

 private:
  /// The calls of an attempt, in order.
  struct Record {
    std::vector<Addr> allocated, freed;
    Addr moved = 0;  ///< the last of `freed`, if its contents may still be copied
    int thread = 0;
  };
  /// A block freed by an uncommitted attempt.
  struct PendingFree {
    Attempt* by = nullptr;
    bool allocation_undone = false;  ///< the attempt that allocated it aborted first
  };

  FreeOutcome free(const Caller& caller, Addr address, bool moved);
  /// Aborts the later attempt that freed the block. @returns false if it precedes the caller.
  bool abort_later_free(const Caller& caller, const PendingFree& pending);

  BlockHeap heap_;
  Aborter* handler_ = nullptr;
  std::unordered_map<const Attempt*, Record> records_;  // never iterated
  std::unordered_map<Addr, PendingFree> pending_;       // never iterated
  std::map<int, Addr> moved_;  // thread -> retired block whose contents may still be copied
};

}  // namespace rubato::chip
