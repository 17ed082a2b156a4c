// Moves the monotonic clock of a program that knows nothing of it: preloaded, for `bench/cached --soak`,
// whose memcached lives a week in minutes. RUBATO_MOVED_CLOCK names a file of eight bytes: the seconds by
// which the clock is ahead, which another process changes.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

// A wait for a time sleeps by the clock that was not moved, so it must look often whether its time has come.
constexpr int kLongestWaitMs = 1;

const std::int64_t* open_offset() {
  const char* const path = std::getenv("RUBATO_MOVED_CLOCK");
  const int file = path != nullptr ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
  void* const memory =
      file >= 0 ? ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
  if (memory == MAP_FAILED) {
    std::fprintf(stderr, "moved_clock: RUBATO_MOVED_CLOCK names no file of eight bytes\n");
    std::_Exit(EXIT_FAILURE);
  }
  ::close(file);
  return static_cast<const std::int64_t*>(memory);
}

std::int64_t offset() {
  static const std::int64_t* const seconds = open_offset();
  return __atomic_load_n(seconds, __ATOMIC_RELAXED);
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  if (result == 0 && (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE)) time->tv_sec += offset();
  return result;
}

extern "C" int epoll_wait(int epoll, epoll_event* events, int most, int timeout_ms) {
  const int wait_ms = timeout_ms > kLongestWaitMs ? kLongestWaitMs : timeout_ms;
  return static_cast<int>(::syscall(SYS_epoll_pwait, epoll, events, most, wait_ms, nullptr, 0));
}
