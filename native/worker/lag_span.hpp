// A wait by lagging in the trace, as a lag or as a sample (A50).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "native/clock.hpp"
#include "native/lag/lagging.hpp"
#include "native/trace/trace_lane.hpp"

namespace rubato::inline v0::native {

class LagSpan {
 public:
  /// @param lane    null without a trace
  /// @param waited  ticks so far, which a wait increases
  LagSpan(TraceLane* lane, const lag::Events& events, std::uint64_t waited)
      : lane_(lane), samples_(events.samples), waited_(waited), began_(lane != nullptr ? ticks() : 0) {}
  void end(const lag::Events& events, std::uint64_t waited) {
    if (lane_ == nullptr || waited == waited_) return;
    const bool is_sample = events.samples != samples_;
    lane_->add({began_, ticks(), nullptr, 0, 0, 0,
                is_sample ? TraceSpan::Kind::sampling : TraceSpan::Kind::lagging});
  }

 private:
  TraceLane* const lane_;
  const std::uint64_t samples_, waited_, began_;
};

}  // namespace rubato::inline v0::native
