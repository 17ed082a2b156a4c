// The capsule call that a core is in, and the records of abort handlers that the core has: P12, P13, P22;
// Espresso, Sec. IV-B, V-C. Knows what a call needs and since when it lasts; what the call does to the task,
// and when, is the core's.
//
// Only the outermost call counts: those within it belong to it. One that a task made is open until end(),
// which tells the host; a thread's is never open.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "chip/capsule/capsule_fault.hpp"
#include "chip/capsule/handler_area.hpp"
#include "chip/config/config.hpp"
#include "chip/core/core_host.hpp"
#include "chip/core/memory_rights.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/time/timeline.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class CapsuleState {
 public:
  /// Of which stub, since when; of a doomed run, since it is doomed. Stub 0: none.
  struct Call {
    Addr stub = 0;
    Cycle since{};
    bool is_doomed = false;
  };

  /// `hart`, `rights`: the core's. What is given by reference outlives this.
  CapsuleState(CoreId core, const Config& config, const HartState& hart, const MemoryRights& rights,
               CoreHost& host);

  bool is_entered() const { return hart_.capsule_depth != 0; }
  /// The open call.
  const Call& call() const { return call_; }
  /// sp at the outermost call; 0: in none.
  Addr caller_stack() const { return is_entered() ? caller_stack_ : 0; }

  /// Why no task can make the call that the core is at, as a sentence; empty if it can.
  std::string refusal() const;
  /// What is wrong with the outermost call that a speculative task makes (P22).
  bool is_bad_call() const;

  /// The outermost call has been made. `is_task`: by a task.
  void begin(Cycle at, bool is_task) {
    caller_stack_ = hart_.x[reg::sp];
    registered_ = 0;
    if (is_task) call_ = {.stub = hart_.pc, .since = at};
  }
  /// Its attempt has been aborted, and the call goes on.
  void doom(Cycle at);
  /// The open call, if there is one, is over.
  void end(Cycle at) {
    if (call_.stub != 0) report(at);
  }

  HandlerArea& handlers() { return handlers_; }
  /// The call has registered as many handlers as it may.
  bool has_most_handlers() const { return registered_ == config_.capsule_handlers; }
  /// The record that the next handler of the call takes, written before.
  LineAddr take_record() {
    ++registered_;
    return handlers_.take();
  }

  // For tests.
  /// `plan`: null for none; else it is for `core`, and outlives this as that and `timeline` do.
  void inject(CapsuleFault fault, DoomPlan* plan, const Core& core, Timeline& timeline);
  bool has(CapsuleFault fault) const { return fault_ == fault; }
  /// The call that has begun is a speculative task's: the plan may have its attempt aborted.
  void follow_plan(Cycle at) {
    if (doomer_ != nullptr) plan_doom(at);
  }

 private:
  class Doomer;

  void report(Cycle at);
  void plan_doom(Cycle at);

  CoreId core_;
  const TaskSection& config_;
  const HartState& hart_;
  const MemoryRights& rights_;
  CoreHost& host_;
  Call call_;
  Addr caller_stack_ = 0;
  std::uint32_t registered_ = 0;  // handlers, by the outermost call
  CapsuleFault fault_ = CapsuleFault::none;
  HandlerArea handlers_;
  std::shared_ptr<Doomer> doomer_;  // null: but in tests
};

}  // namespace rubato::chip
