// A monotonic clock for programs whose instructions are counted: preloaded, each reading sleeps two
// milliseconds and is two microseconds later than the one before. So the native engine takes a time stamp
// counter for 1,000 times as fast, and all tasks for short, however long they take under the tool that counts
// on a busy machine.
// SPDX-License-Identifier: MIT
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace {
constexpr std::int64_t kMicrosecond = 1000, kSecond = 1'000'000'000;
std::atomic<std::int64_t> now{kSecond};
}  // namespace

extern "C" int clock_gettime(clockid_t clock, struct timespec* time) noexcept {
  if (clock != CLOCK_MONOTONIC) return static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  const timespec pause{.tv_sec = 0, .tv_nsec = 2000 * kMicrosecond};
  ::nanosleep(&pause, nullptr);
  const std::int64_t reading = now += 2 * kMicrosecond;
  *time = {.tv_sec = reading / kSecond, .tv_nsec = reading % kSecond};
  return 0;
}
