// SPDX-License-Identifier: MIT
#include "tm/thread/manager.hpp"
#include "tm/thread/thread.hpp"

namespace rubato::tm {
namespace {

constexpr std::uint32_t kMostDoublings = 16;
constexpr std::uint64_t kPausesBeforeYield = 200;  // about 10 us: after longer waits the core is given up

void after_abort(Thread& thread, std::uint32_t) {
  thread.random = thread.random * 6364136223846793005u + 1442695040888963407u;
  const std::uint32_t doublings =
      thread.aborts_in_a_row < kMostDoublings ? thread.aborts_in_a_row : kMostDoublings;
  std::uint64_t pauses = (thread.random >> 33) % (std::uint64_t{1} << doublings);
  for (; pauses > kPausesBeforeYield; pauses -= kPausesBeforeYield) Atomics::yield();
  for (; pauses > 0; --pauses) Atomics::pause();
}

}  // namespace

constinit const Manager kBackoff = {after_abort};

}  // namespace rubato::tm
