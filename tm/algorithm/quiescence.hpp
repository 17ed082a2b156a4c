// The wait of a committed transaction for those that may still touch what it made private (T36, T37).
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "tm/fault.hpp"
#include "tm/profile/profile.hpp"
#include "tm/thread/thread.hpp"

namespace rubato::tm {

/// Waits for all transactions that are older than `time`, and gives back what waits for that.
inline void wait_for_all_before(Thread& thread, std::uint64_t time) {
  quiesce(shared.lines, &thread.line, time,
          [&thread](auto wait) { timed(thread, Profile::Wait::quiescence, wait); });
  if (__builtin_expect(!thread.limbo.empty(), false) &&
      (!thread.limbo.is_of(thread.algorithm, shared.era.load(std::memory_order_seq_cst)) ||
       thread.limbo.time() <= time))
    thread.limbo.release();
}

/// End of a transaction that promised to make nothing private: its frees wait for the other transactions, the
/// thread does not.
[[gnu::noinline]] inline void leave_to_limbo(Thread& thread, std::uint64_t time) {
  if (!thread.limbo.empty() && !thread.limbo.is_of(thread.algorithm, thread.era)) thread.limbo.release();
  if (has_fault(Fault::frees_past_limbo)) return;
  if (!thread.limbo.take(thread.allocations, time, thread.algorithm, thread.era) || thread.limbo.is_full())
    wait_for_all_before(thread, time);
}

/// `quiesced`: a time before which all is over that could see what is private since then: no transaction is
/// under way any more that began before an update of that time was visible.
inline void wait_for_older(Thread& thread, std::atomic<std::uint64_t>& quiesced) {
  const std::uint64_t time = thread.commit_time;
  if (time == 0) return;
  if (__builtin_expect(thread.makes_nothing_private == thread.committed.load(std::memory_order_relaxed),
                       false)) {
    leave_to_limbo(thread, time);
    return;
  }
  wait_for_all_before(thread, time);
  if (!thread.was_read_only) return;
  std::uint64_t seen = quiesced.load(std::memory_order_seq_cst);
  while (seen < time && shared.era.load(std::memory_order_seq_cst) == thread.era &&
         !quiesced.compare_exchange_weak(seen, time, std::memory_order_seq_cst, std::memory_order_seq_cst)) {
  }
}

}  // namespace rubato::tm
