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

/// 0: not asked yet, 1: registered, 2: absent.
std::atomic<int> membarrier_state{0};

long call_futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
                const timespec* limit = nullptr) {
  const int saved = errno;  // a transaction may not change it
  const long result = ::syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, limit, nullptr, 0);
  errno = saved;
  return result;
}

int ask_for_membarrier() {
  const int saved = errno;
  const int state = ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 ? 1 : 2;
  errno = saved;
  membarrier_state.store(state, std::memory_order_release);
  return state;
}

}  // namespace

bool Atomics::has_heavy_fence() {
  const int state = membarrier_state.load(std::memory_order_acquire);
  return (state == 0 ? ask_for_membarrier() : state) == 1;
}

void Atomics::heavy_fence() {
  if (has_heavy_fence()) {
    const int saved = errno;
    ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    errno = saved;
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
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
