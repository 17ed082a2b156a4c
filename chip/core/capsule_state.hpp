// The capsule call that a core is in, and the records of abort handlers that the core has: P12, P13, P22;
// Espresso, Sec. IV-B, V-C. It knows a call's needs and its begin; the core applies the call to the task.
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
#include "chip/capsule/open_call.hpp"
#include "chip/config/config.hpp"
#include "chip/core/core_host.hpp"
#include "chip/core/memory_rights.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/time/timeline.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class CapsuleState {
 public:
  /// `hart`, `rights`: the core's. All references outlive this.
  CapsuleState(CoreId core, const Config& config, const HartState& hart, const MemoryRights& rights,
               CoreHost& host);

  bool is_entered() const { return hart_.capsule_depth != 0; }
  /// The open call.
  const OpenCapsuleCall& call() const { return call_; }
  /// sp at the outermost call; 0: in none.
  Addr caller_stack() const { return is_entered() ? call_.caller_stack : 0; }

  /// Why no task can make the call that the core is at, as a sentence; empty if it can.
  std::string refusal() const;
  /// Whether the outermost call of a speculative task is wrong, and why (P22).
  bool is_bad_call() const;

  /// The outermost call has been made. `is_task`: by a task.
  void begin(Cycle at, bool is_task) {
    call_ = {.stub = is_task ? hart_.pc : 0, .since = at, .caller_stack = hart_.x[reg::sp]};
  }
  /// Its attempt has been aborted, and the call goes on.
  void doom(Cycle at);
  /// The open call, if there is one, is over.
  void end(Cycle at) {
    if (call_.stub != 0 || call_.promised_by != nullptr) close(at);
  }
  /// The call waits in a system call; the core has none any longer. @returns it, to go on with.
  /// `may_register`: it was made by a speculative task, and may register handlers.
  OpenCapsuleCall suspend(bool may_register, Cycle at);
  /// The call, which waited, goes on here. `is_doomed`: as a doomed run.
  void resume(const OpenCapsuleCall& call, bool is_doomed, Cycle at);

  HandlerArea& handlers() { return handlers_; }
  /// The area that holds the records of the call's handlers.
  HandlerArea& records() { return call_.promised_by != nullptr ? *call_.promised_by : handlers_; }
  /// The call has registered as many handlers as it may.
  bool has_most_handlers() const { return call_.registered == config_.capsule_handlers; }
  /// The record that the next handler of the call takes, written before.
  LineAddr take_record() {
    ++call_.registered;
    if (call_.promised_by != nullptr) call_.promised_by->redeem(1);
    return records().take();
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

  void close(Cycle at);
  void report(Cycle at);
  void plan_doom(Cycle at);

  CoreId core_;
  const TaskSection& config_;
  const HartState& hart_;
  const MemoryRights& rights_;
  CoreHost& host_;
  OpenCapsuleCall call_;
  CapsuleFault fault_ = CapsuleFault::none;
  HandlerArea handlers_;
  std::shared_ptr<Doomer> doomer_;  // null: but in tests
};

}  // namespace rubato::chip
