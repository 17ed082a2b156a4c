// The time at which a system call is performed. A core may be ahead of the timeline when it calls, so what
// the call does to others happens at the later of the two.
// SPDX-License-Identifier: MIT
#pragma once

#include "chip/time/timeline.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class CallClock {
 public:
  explicit CallClock(const Timeline& timeline) : timeline_(timeline) {}

  /// Thread `caller` makes a call at `at`; 0: what follows is no thread's call.
  void begin(Cycle at, int caller) {
    at_ = at;
    caller_ = caller;
  }
  /// Later events happen at `at`, and the last caller stays.
  void set(Cycle at) { at_ = at; }
  /// Time goes on from `at`, if that is later.
  void advance(Cycle at) { at_ = later(at_, at); }

  Cycle now() const { return later(at_, timeline_.now()); }
  /// The thread whose call is performed, or was last; 0: no thread's.
  int caller() const { return caller_; }

 private:
  const Timeline& timeline_;
  Cycle at_{};
  int caller_ = 0;
};

}  // namespace rubato::chip
