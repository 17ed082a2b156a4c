// A worker that has found no task: it looks again, finds whether the run has ended, and sleeps, or lags.
// R10, A45.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "native/pool/atomics.hpp"
#include "native/worker/event_count.hpp"

namespace rubato::inline v0::native {

class Shared;
class Worker;
struct IdleLag;

class Idling {
 public:
  using Events = EventCount<StdAtomics>;

  explicit Idling(Worker& worker);
  ~Idling();
  Idling(const Idling&) = delete;
  Idling& operator=(const Idling&) = delete;

  /// False: the run is over.
  bool wait_for_work();
  /// Between two runs.
  void pause();
  /// The worker may lag in place of sleeping, and the waking thread notes how long that takes.
  bool may_lag() const { return lag_ != nullptr; }

 private:
  bool can_find_work() const;
  [[gnu::noinline]] bool lag(Events::Ticket ticket, std::uint64_t run);
  void sleep(Events::Ticket ticket, bool is_last);
  void sleep_last(Events::Ticket ticket);
  /// Whether the run has ended.
  bool is_over(std::uint64_t run);
  void wait_for_end_of_pause();

  Worker& worker_;
  Shared& shared_;
  std::unique_ptr<IdleLag> lag_;  // null: off
};

}  // namespace rubato::inline v0::native
