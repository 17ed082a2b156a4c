// SPDX-License-Identifier: MIT
#include "native/pool/atomics.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace rubato::inline v0::native {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void StdAtomics::wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::uint32_t microseconds) {
  timespec limit{.tv_sec = microseconds / 1'000'000, .tv_nsec = microseconds % 1'000'000 * 1000};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, microseconds == 0 ? nullptr : &limit, nullptr, 0);
}

void StdAtomics::wake(std::atomic<std::uint32_t>& word, int threads) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

void StdAtomics::wait_at(std::uint32_t places, std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, seen, nullptr, nullptr, places);
}

bool StdAtomics::wake_at(std::uint32_t place, std::atomic<std::uint32_t>& word) {
  return syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 1, nullptr, nullptr, place) > 0;
}

}  // namespace rubato::inline v0::native
