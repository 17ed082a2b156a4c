// A worker's CPU. A worker with a CPU of its own is bound to it while another works beside it. Alone it may
// run on any: bound, it would share its CPU with other programs while the others' CPUs are free; and one that
// waits for threads from outside wakes up where that is quickest. So the thread that calls run() begins
// unbound. R3 and R10.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "native/clock.hpp"
#include "native/policy.hpp"
#include "native/topology/topology.hpp"

namespace rubato::inline v0::native {

/// The binding of the calling thread.
class CpuBinding {
 public:
  CpuBinding(const Topology& topology, unsigned worker) : allowed_(topology.allowed), worker_(worker) {}

  /// A thread of the engine begins: to its CPU if it may, else to any.
  void begin_bound(bool may_bind) {
    has_cpu_ = may_bind && bind();
    if (!has_cpu_) unpin_this_thread(allowed_);  // the thread that made it may be bound, and passes that on
  }
  /// The thread that calls run(): it has a CPU of its own from when another worker works beside it.
  void begin_unbound(bool has_cpu) {
    has_cpu_ = has_left_ = has_cpu;
    chosen_ = ticks();
  }
  void end() { has_cpu_ = has_left_ = false; }

  void leave() {
    if (!has_cpu_ || has_left_) return;
    unpin_this_thread(allowed_);
    has_left_ = true;
    chosen_ = ticks();
  }
  /// Also before it wakes another worker, which may be bound to the CPU that it has come to.
  void go_back() {
    if (!has_left_) [[likely]]
      return;
    has_left_ = false;
    bind();
    chosen_ = ticks();
  }
  /// The thread has woken up: its present CPU counts as chosen.
  void stay() {
    if (has_left_) chosen_ = ticks();
  }
  /// Between two tasks. Not often, since it takes some microseconds. `is_alone()`: no other worker is busy.
  template <class IsAlone>
  void choose(IsAlone is_alone) {
    if (!has_cpu_ || is_alone() == has_left_ || ticks() - chosen_ < ticks_of(policy::kChoiceMicroseconds))
        [[likely]]
      return;
    if (has_left_) {
      go_back();
    } else {
      leave();
    }
  }

  bool is_bound() const { return has_cpu_ && !has_left_; }

 private:
  bool bind() const { return pin_this_thread(allowed_[worker_].cpu); }

  const std::vector<AllowedCpu>& allowed_;
  const unsigned worker_;
  bool has_cpu_ = false;      // of its own
  bool has_left_ = false;     // and may run on any, until another worker works beside it
  std::uint64_t chosen_ = 0;  // when it was bound or let go, or has woken up since
};

}  // namespace rubato::inline v0::native
