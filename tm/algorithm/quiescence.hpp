// The wait of a committed transaction for those that may still touch what it made private (rules T36, T37).
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "tm/thread/thread.hpp"

namespace rubato::tm {

/// `quiesced`: the time before which no transaction is under way any more.
inline void wait_for_older(Thread& thread, std::atomic<std::uint64_t>& quiesced) {
  const std::uint64_t time = thread.commit_time;
  if (time == 0) return;
  quiesce(shared.lines, &thread.line, time);
  if (!thread.was_read_only) return;
  std::uint64_t seen = quiesced.load(std::memory_order_relaxed);
  while (seen < time &&
         !quiesced.compare_exchange_weak(seen, time, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

}  // namespace rubato::tm
