// Shows the accesses to a range of memory that a program makes in fast-forward (C4), where there are no cores
// and no cycles. Accesses of the kernel, in system calls, are not among them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/isa/insn.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/os/fast_forward.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// An access in fast-forward, before it has its effect.
struct UntimedAccess {
  int thread;
  Addr pc;
  const isa::Insn& insn;
  const HartState& hart;
  Addr address;
  std::uint64_t memory;  ///< what is there, zero-extended
};

class UntimedObserver {
 public:
  virtual ~UntimedObserver() = default;
  virtual void on_untimed_access(const UntimedAccess& access) = 0;
};

class FastForwardWatch final : public FastForward::Observer {
 public:
  /// [first, first + bytes) is watched. @param next sees everything as well; may be null.
  FastForwardWatch(const AddressSpace& memory, Addr first, std::uint64_t bytes, UntimedObserver& observer,
                   FastForward::Observer* next)
      : memory_(memory), first_(first), bytes_(bytes), observer_(observer), next_(next) {}

  void on_turn(const Thread& thread) override {
    thread_ = &thread;
    if (next_ != nullptr) next_->on_turn(thread);
  }
  void on_fetch(Addr pc) override {
    block_ = pc;
    accesses_ = 0;
    if (next_ != nullptr) next_->on_fetch(pc);
  }
  void on_data(Addr address, unsigned bytes, bool is_store) override {
    ++accesses_;
    if (address < first_ + bytes_ && address + bytes > first_) show(address, bytes);
    if (next_ != nullptr) next_->on_data(address, bytes, is_store);
  }

 private:
  void show(Addr address, unsigned bytes);

  const AddressSpace& memory_;
  const Addr first_;
  const std::uint64_t bytes_;
  UntimedObserver& observer_;
  FastForward::Observer* const next_;
  const Thread* thread_ = nullptr;
  Addr block_ = 0;              // where the block that runs begins
  std::uint32_t accesses_ = 0;  // in it, this one included
};

}  // namespace rubato::chip
