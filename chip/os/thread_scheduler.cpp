// The choice of the next thread.
// SPDX-License-Identifier: MIT
#include "chip/os/thread_scheduler.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace rubato::chip {

std::uint32_t ThreadScheduler::home_of(const Thread& thread) const {
  const auto index = static_cast<std::size_t>(thread.tid);
  return index < homes_.size() ? homes_[index] : kNoHome;
}

void ThreadScheduler::add(Thread& thread) {
  RUBATO_CHECK(!thread.is_worker, "a worker serves the task region and is never placed");
  RUBATO_CHECK(thread.state == ThreadState::runnable, "only runnable threads wait for a core");
  RUBATO_DCHECK(
      std::none_of(waiting_.begin(), waiting_.end(), [&](const Waiting& w) { return w.thread == &thread; }));
  waiting_.push_back({&thread});
}

std::size_t ThreadScheduler::first_allowed(CoreId core) const {
  const auto first = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const Waiting& w) { return w.thread->may_run_on(core); });
  return static_cast<std::size_t>(first - waiting_.begin());
}

Thread* ThreadScheduler::pick(CoreId core) {
  const std::size_t longest = first_allowed(core);
  if (longest == waiting_.size()) return nullptr;
  std::size_t chosen = longest;
  if (waiting_[longest].passed < kMaxPassed) {
    // First the thread that ran here last, then one that never ran, then the one that waits longest.
    const auto first_with_home = [&](std::uint32_t home) {
      return static_cast<std::size_t>(std::find_if(waiting_.begin(), waiting_.end(),
                                                   [&](const Waiting& w) {
                                                     return home_of(*w.thread) == home &&
                                                            w.thread->may_run_on(core);
                                                   }) -
                                      waiting_.begin());
    };
    chosen = first_with_home(core.value);
    if (chosen == waiting_.size()) chosen = first_with_home(kNoHome);
    if (chosen == waiting_.size()) chosen = longest;
  }
  for (std::size_t i = 0; i < chosen; ++i)
    if (waiting_[i].thread->may_run_on(core)) ++waiting_[i].passed;
  Thread* thread = waiting_[chosen].thread;
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(chosen));
  const auto index = static_cast<std::size_t>(thread->tid);
  if (index >= homes_.size()) homes_.resize(index + 1, kNoHome);
  homes_[index] = core.value;
  return thread;
}

void ThreadScheduler::remove(const Thread& thread) {
  std::erase_if(waiting_, [&](const Waiting& w) { return w.thread == &thread; });
}

}  // namespace rubato::chip
