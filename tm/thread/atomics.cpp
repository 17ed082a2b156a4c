// SPDX-License-Identifier: MIT
#include "tm/thread/atomics.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace rubato::tm {
namespace {

long call_futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
                const timespec* limit = nullptr) {
  const int saved = errno;  // a transaction may not change it
  const long result = ::syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, limit, nullptr, 0);
  errno = saved;
  return result;
}

// While a process has one thread the registration returns at once; with more the kernel waits until every
// processor has passed a scheduling point (some 14 ms), which the first transaction would pay for.
[[gnu::constructor]] void ask_while_single_threaded() { Atomics::has_heavy_fence(); }

}  // namespace

constinit std::atomic<Atomics::Membarrier> Atomics::membarrier{Membarrier::unknown};

bool Atomics::ask_for_membarrier() {
  const int saved = errno;
  const bool is_there = ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  errno = saved;
  membarrier.store(is_there ? Membarrier::registered : Membarrier::absent, std::memory_order_release);
  return is_there;
}

void Atomics::heavy_fence() {
  if (has_heavy_fence()) {
    const int saved = errno;
    ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    errno = saved;
  } else {
    fence(std::memory_order_seq_cst);
  }
}

void Atomics::sleep(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::uint32_t microseconds) {
  const timespec limit = {microseconds / 1000000, microseconds % 1000000 * 1000};
  call_futex(word, FUTEX_WAIT, seen, microseconds != 0 ? &limit : nullptr);
}

void Atomics::wake(std::atomic<std::uint32_t>& word, int threads) {
  call_futex(word, FUTEX_WAKE, static_cast<std::uint32_t>(threads));
}

void Atomics::yield() { ::sched_yield(); }

}  // namespace rubato::tm
