// The blocks that a program has allocated, and the place in the program that asked for each. A program's
// calls of allocator functions are recognized by their names; calls and returns are noted in the decoded code
// (BlockCache::set_notes), which costs other instructions nothing and takes no simulated time.
//
//   call     a hart is at the entry of an allocator function: its bytes and return address are kept
//   return   a hart is behind the call, with the same stack pointer: the result is a block
//   site     the chain of calls to the function, from the innermost one to the first that is neither a
//            library's nor a wrapper around allocation
//
// The code shows returns of direct calls. Those of calls through pointers are noted at the first such call,
// each of which decodes the program anew: at most kMostLearned.
// What an allocator asks another function for, or the kernel, is no block of the program's.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "chip/alloc/allocated_blocks.hpp"
#include "chip/alloc/allocator_functions.hpp"
#include "chip/isa/block_cache.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/os/frame_walk.hpp"
#include "chip/os/symbols.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class AllocationSites final : public isa::NoteObserver {
 public:
  static constexpr std::size_t kMostFrames = 8;
  static constexpr std::size_t kMostLearned = 256;

  struct Site {
    std::vector<Addr> calls;  ///< the last byte of each call, innermost first
    std::size_t user = 0;     ///< of them: the call in the user's function
    bool maps = false;        ///< pages of the kernel's, not a block of the heap
  };
  /// Hears that memory is handed out.
  class Listener {
   public:
    virtual ~Listener() = default;
    /// `block` is handed out, and no block yet.
    virtual void before_block(const AllocatedBlock& block) = 0;
  };

  /// All outlive it. `heap`: the addresses of the heap and of mappings, begin and end.
  AllocationSites(const Symbols& symbols, const AddressSpace& memory, isa::BlockCache& code,
                  std::pair<Addr, Addr> heap);
  AllocationSites(const AllocationSites&) = delete;  // the code knows it
  AllocationSites& operator=(const AllocationSites&) = delete;

  /// Null: none.
  void listen(Listener* listener) { listener_ = listener; }

  void on_note(Addr pc, const HartState& hart, std::uint32_t awaited) override;
  /// The simulator has served the call of an allocator function that a hart made with these registers, and
  /// has handed out `block`.
  void on_served(const HartState& before, Addr block);

  const AllocatedBlocks& blocks() const { return blocks_; }
  const Site& site(std::uint32_t number) const { return sites_[number]; }
  /// Not in the program's file, nor on the main thread's stack.
  bool is_heap(Addr a) const { return a >= heap_.first && a < heap_.second; }
  /// Why no block is known: a part of a sentence, or empty.
  std::string_view blindness() const;

  /// A call of an allocator function that has not returned.
  struct Call {
    Addr thread = 0, return_address = 0, sp = 0;
    std::uint64_t bytes = 0;
    Addr result_at = 0;  ///< 0: in a0
    bool maps = false;
  };
  /// The contents of checkpoints (allocation_checkpoint.cpp).
  struct Saved {
    std::vector<Site> sites;
    std::vector<AllocatedBlock> blocks;
    std::vector<Call> calls;
    std::vector<Addr> notes;  ///< the places in the code
    std::uint64_t learned = 0;
  };
  Saved saved() const;
  /// Precondition: nothing has been allocated since the program was loaded.
  void restore(Saved saved);

 private:
  using Chain = std::array<Addr, kMostFrames>;  // zeros behind the last
  /// A place behind a call.
  struct Caller {
    bool is_inside = false;    // an allocator: what it asks for is no block
    bool maps_inside = false;  // the same of mappings
    bool is_passed = false;    // a library, or a wrapper around allocation: its own caller is of interest
    bool is_library = false;
    bool is_function = false;
  };
  static constexpr std::size_t kCalls = 1024;  // of threads that are in one; a power of two

  /// Has the code show the functions' entries, the places that their calls return to, and `more`.
  void set_notes(const std::vector<Addr>& more);
  void on_call(const AllocatorFunction& function, const HartState& hart, std::uint32_t awaited);
  void on_return(Call& call, const HartState& hart, std::uint32_t awaited);
  /// The call returns to a place that is noted, or can be.
  bool notes(Addr return_address);
  void add(Addr block, std::uint64_t bytes, const FrameWalk::Place& place, bool maps);
  std::uint32_t site_of(const FrameWalk::Place& place, bool maps);
  const Caller& caller_at(Addr pc);
  /// Threads have thread pointers of their own; the one that called last keeps a place that two share.
  Call& call_of(Addr thread) { return calls_[(thread >> 4) * 0x9e3779b97f4a7c15U >> 54]; }

  const Symbols& symbols_;
  const AddressSpace& memory_;
  isa::BlockCache& code_;
  const std::pair<Addr, Addr> heap_;
  const std::unordered_map<Addr, AllocatorFunction> functions_;
  std::size_t learned_ = 0;  // returns that were noted at a call
  FrameWalk walk_;
  std::unordered_map<Addr, Caller> callers_;
  std::vector<Call> calls_ = std::vector<Call>(kCalls);
  std::map<std::pair<Chain, bool>, std::uint32_t> numbers_;
  std::vector<Site> sites_;
  AllocatedBlocks blocks_;
  Listener* listener_ = nullptr;
};

}  // namespace rubato::chip
