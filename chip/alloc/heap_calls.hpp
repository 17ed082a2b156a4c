// Calls of a program's heap functions (malloc, free, operator new, ...), served by the ideal allocator in
// place of the program's own code: at the entry of such a function the interpreters stop (BlockCache's host
// calls) and ask here. Arguments and results travel as in the calling convention, and no time passes.
//
// Functions that move data are the program's: calloc goes on in memset and realloc in memcpy, which return
// the result of their callers. These accesses are thus the caller's own, timed and checked like any other.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "chip/alloc/ideal_allocator.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/memory/fault.hpp"
#include "chip/os/process.hpp"
#include "chip/os/user_memory.hpp"

namespace rubato::chip {

class HeapCalls {
 public:
  enum class Outcome : std::uint8_t {
    returned,  ///< a0 is set, pc is where the caller goes on
    jumped,    ///< pc is at another function, which returns to the caller
    unserved,  ///< the program's own function is to run: entries() has changed
    faulted,   ///< fault() says why; a speculative task must stop (C18), others have made an error
  };

  /// @throws UsageError if the program has no symbols, or has calloc or realloc but not what they go on in.
  HeapCalls(const Process& process, AddressSpace& memory, std::uint32_t cores);

  /// Before anything speculates. Outlives its use.
  void attach(Aborter& handler) { allocator_.attach(handler); }
  /// Sees what calls store for their callers, before they do. Outlives its use.
  void observe_accesses(UserMemory::Observer* observer) { user_.observe(observer); }
  IdealAllocator& allocator() { return allocator_; }
  /// Entry pc -> number of the function, for call().
  const std::map<Addr, std::int32_t>& entries() const { return entries_; }
  /// Serves the function whose entry `hart` is at.
  Outcome call(HartState& hart, std::int32_t function, const IdealAllocator::Caller& caller);
  const Fault& fault() const { return fault_; }
  /// The blocks that the last call took from a pool and freed; 0: none.
  Addr taken() const { return taken_; }
  Addr freed() const { return freed_; }

 private:
  Outcome allocate(HartState& hart, const IdealAllocator::Caller& caller, std::uint64_t bytes,
                   std::uint64_t alignment = BlockHeap::kAlignment);
  Outcome allocate_zeroed(HartState& hart, const IdealAllocator::Caller& caller);
  Outcome allocate_for_operator(HartState& hart, const IdealAllocator::Caller& caller,
                                std::uint64_t alignment);
  Outcome store_aligned(HartState& hart, const IdealAllocator::Caller& caller);
  Outcome reallocate(HartState& hart, const IdealAllocator::Caller& caller, std::uint64_t bytes);
  Outcome free(HartState& hart, const IdealAllocator::Caller& caller, bool moved = false);

  BlockHeap::Block take(const IdealAllocator::Caller& caller, std::uint64_t bytes,
                        std::uint64_t alignment = BlockHeap::kAlignment);
  Outcome give(HartState& hart, std::uint64_t result);
  Outcome go_to(HartState& hart, Addr function);
  Outcome out_of_memory(HartState& hart, const IdealAllocator::Caller& caller);
  Outcome fail(const HartState& hart, std::string sentence);
  void set_errno(const HartState& hart, std::int32_t value);

  const Process& process_;
  UserMemory user_;
  IdealAllocator allocator_;
  std::map<Addr, std::int32_t> entries_;
  Addr memset_ = 0, memcpy_ = 0;
  Addr taken_ = 0, freed_ = 0;
  Fault fault_;
};

}  // namespace rubato::chip
