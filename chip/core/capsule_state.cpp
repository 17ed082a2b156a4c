// SPDX-License-Identifier: MIT
#include "chip/core/capsule_state.hpp"

#include "chip/capsule/vector.hpp"
#include "chip/core/core.hpp"

namespace rubato::chip {

/// Carries out a DoomPlan on one core.
class CapsuleState::Doomer final : public EventHandler {
 public:
  Doomer(const Core& core, DoomPlan& plan, CoreHost& host, Timeline& timeline)
      : core_(core), plan_(plan), host_(host), timeline_(timeline) {}

  void begin(Cycle at) {
    if (plan_.begun[core_.task()]++ >= plan_.attempts) return;
    ++calls_;
    timeline_.schedule(at + plan_.delay, this, 0, calls_);
  }
  void end() { ++calls_; }

  void on_event(Cycle now, std::uint32_t, std::uint64_t call) override {
    if (call != calls_ || !core_.is_protected()) return;
    ++plan_.dooms;
    host_.tasks().doom(core_.id(), AbortCause::conflict, now);
  }

 private:
  const Core& core_;
  DoomPlan& plan_;
  CoreHost& host_;
  Timeline& timeline_;
  std::uint64_t calls_ = 0;  // an event is for the call of its number
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
  const Addr stub = call_.stub;
  end(at);
  call_ = {.stub = stub, .since = at, .is_doomed = true};
}

void CapsuleState::report(Cycle at) {
  if (doomer_ != nullptr) doomer_->end();
  const auto [stub, since, is_doomed] = call_;
  host_.capsule_ended(core_, stub, since, later(since, at), is_doomed);
  call_ = {};
}

void CapsuleState::inject(CapsuleFault fault, DoomPlan* plan, const Core& core, Timeline& timeline) {
  fault_ = fault;
  doomer_ = plan != nullptr ? std::make_shared<Doomer>(core, *plan, host_, timeline) : nullptr;
}

void CapsuleState::plan_doom(Cycle at) { doomer_->begin(at); }

}  // namespace rubato::chip
