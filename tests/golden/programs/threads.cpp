// The kernel with threads: each kind of waiting, and each kind of atomic operation.
// SPDX-License-Identifier: MIT
#include <pthread.h>

#include <cstdint>

#include "tests/golden/programs/kernels.hpp"

namespace {

constexpr std::uint64_t kMost = 64, kRounds = 40;

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
pthread_barrier_t barrier;
std::uint64_t turn = 0, guarded = 0;
alignas(64) std::uint64_t added = 0;
alignas(64) std::uint64_t largest = 0;
alignas(64) std::uint32_t exchanged = 1;

void* work(void* argument) {
  const auto me = reinterpret_cast<std::uintptr_t>(argument);
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    pthread_mutex_lock(&mutex);
    guarded = guarded * 3 + 1;
    pthread_mutex_unlock(&mutex);
    __atomic_fetch_add(&added, me + round, __ATOMIC_RELAXED);
    std::uint64_t seen = __atomic_load_n(&largest, __ATOMIC_RELAXED);
    const std::uint64_t mine = me * 1000 + round;
    while (seen < mine &&
           !__atomic_compare_exchange_n(&largest, &seen, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
    __atomic_fetch_xor(&exchanged, static_cast<std::uint32_t>(mine), __ATOMIC_SEQ_CST);
    if (round % 10 == 9) pthread_barrier_wait(&barrier);
  }
  pthread_mutex_lock(&mutex);
  while (turn != me) pthread_cond_wait(&turn_changed, &mutex);
  ++turn;
  pthread_cond_broadcast(&turn_changed);
  pthread_mutex_unlock(&mutex);
  return nullptr;
}

}  // namespace

int golden::threads(std::uint64_t count) {
  if (count == 0 || count > kMost) return 2;
  pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(count));
  pthread_t threads[kMost];
  for (std::uint64_t i = 0; i < count; ++i)
    if (pthread_create(&threads[i], nullptr, work, reinterpret_cast<void*>(i)) != 0) return 3;
  for (std::uint64_t i = 0; i < count; ++i) pthread_join(threads[i], nullptr);
  say("guarded", guarded);
  say("added", added);
  say("largest", largest);
  say("exchanged", exchanged);
  return 0;
}
