// SPDX-License-Identifier: MIT
#include "chip/core/capsule_state.hpp"

#include <utility>

#include "chip/capsule/vector.hpp"
#include "chip/core/core.hpp"

namespace rubato::chip {

/// Carries out a DoomPlan on one core.
class CapsuleState::Doomer final : public EventHandler {
 public:
  Doomer(const Core& core, DoomPlan& plan, CoreHost& host, Timeline& timeline)
      : core_(core), plan_(plan), host_(host), timeline_(timeline) {}

  void begin(Cycle at) {
    const std::uint64_t task = core_.task();
    const std::uint32_t attempt = plan_.begun[task]++;
    plan_.open[task] = attempt;
    if (attempt < plan_.attempts) timeline_.schedule(at + plan_.delay, this, attempt, task);
  }
  void end() { plan_.open.erase(core_.task()); }

  void on_event(Cycle now, std::uint32_t attempt, std::uint64_t task) override {
    const auto open = plan_.open.find(task);
    if (open == plan_.open.end() || open->second != attempt) return;
    if (host_.tasks().doom_task(host_.tile_of(core_.id()), task, now)) ++plan_.dooms;
  }

 private:
  const Core& core_;
  DoomPlan& plan_;
  CoreHost& host_;
  Timeline& timeline_;
};

CapsuleState::CapsuleState(CoreId core, const Config& config, const HartState& hart,
                           const MemoryRights& rights, CoreHost& host)
    : core_(core),
      config_(config.task),
      hart_(hart),
      rights_(rights),
      host_(host),
      handlers_(core, config.task.handler_records) {}

std::string CapsuleState::refusal() const {
  if (has(CapsuleFault::vector_unchecked)) return {};
  return host_.capsules(core_).refusal(hart_);
}

bool CapsuleState::is_bad_call() const {
  if (!refusal().empty()) return true;
  if (has(CapsuleFault::stack_unchecked)) return false;
  const auto [low, high] = rights_.own_stack();
  const Addr sp = hart_.x[reg::sp];
  return sp % 16 != 0 || sp > high || sp < low || sp - low < config_.capsule_stack ||
         handlers_.left() < config_.capsule_handlers;
}

void CapsuleState::doom(Cycle at) {
  if (doomer_ != nullptr) doomer_->end();
  if (call_.stub != 0) report(at);
  call_.since = at;
  call_.is_doomed = true;
  call_.is_counted = false;
}

OpenCapsuleCall CapsuleState::suspend(bool may_register, Cycle at) {
  if (!is_entered()) return {};
  if (call_.stub != 0) report(at);
  if (may_register && call_.promised_by == nullptr) {
    call_.promised_by = &handlers_;
    handlers_.promise(config_.capsule_handlers - call_.registered);
  }
  return std::exchange(call_, {});
}

void CapsuleState::resume(const OpenCapsuleCall& call, bool is_doomed, Cycle at) {
  call_ = call;
  call_.since = at;
  call_.is_counted = is_doomed == call.is_doomed;
  call_.is_doomed = is_doomed;
}

void CapsuleState::close(Cycle at) {
  if (doomer_ != nullptr && !call_.is_doomed) doomer_->end();
  if (call_.stub != 0) report(at);
  if (call_.promised_by != nullptr) call_.promised_by->redeem(config_.capsule_handlers - call_.registered);
  call_ = {};
}

void CapsuleState::report(Cycle at) { host_.capsule_ended(core_, call_, later(call_.since, at)); }

void CapsuleState::inject(CapsuleFault fault, DoomPlan* plan, const Core& core, Timeline& timeline) {
  fault_ = fault;
  doomer_ = plan != nullptr ? std::make_shared<Doomer>(core, *plan, host_, timeline) : nullptr;
}

void CapsuleState::plan_doom(Cycle at) { doomer_->begin(at); }

}  // namespace rubato::chip
