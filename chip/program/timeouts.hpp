// Ends of waits for a time, of the programs in detail: each program has at most one useful event on the
// timeline, at the earliest time that a thread of it waits for.
//
// An event whose wait has ended otherwise stays where it is. Such events alone are no work: has_work() tells
// a run that goes on from one in which nothing can ever happen again (C3).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "chip/program/programs.hpp"
#include "chip/time/timeline.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class Timeouts final : public EventHandler {
 public:
  /// `expire(program, now)` ends the waits that are due, and calls schedule() for those that are left.
  Timeouts(Timeline& timeline, const Programs& programs, std::uint64_t frequency_mhz,
           std::function<void(Program&, Cycle)> expire)
      : timeline_(timeline), programs_(programs), frequency_mhz_(frequency_mhz), expire_(std::move(expire)) {}

  /// A thread of `program` may wait for an earlier time than all before.
  void schedule(Program& program);

  /// False if all that is left on the timeline was to end waits that have ended otherwise.
  bool has_work() const {
    if (pending_ == 0) return !timeline_.empty();
    return timeline_.pending() > pending_ || programs_.awaits_time();
  }

  void on_event(Cycle now, std::uint32_t kind, std::uint64_t number) override;

 private:
  Timeline& timeline_;
  const Programs& programs_;
  const std::uint64_t frequency_mhz_;
  std::function<void(Program&, Cycle)> expire_;
  std::uint64_t pending_ = 0;  // events on the timeline
};

}  // namespace rubato::chip
