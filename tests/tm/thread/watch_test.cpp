// Interleavings of a thread that sleeps for a condition and of one that makes it true (T51, T56).
// SPDX-License-Identifier: MIT
#include "tm/thread/watch.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "tests/tm/explored.hpp"

namespace rubato::tm {
namespace {

constexpr std::uintptr_t kPlace = 0x1000, kKind = 1;

Signature of(std::uintptr_t place) {
  Signature signature;
  signature.add(place);
  return signature;
}

/// A record with its value, as lazy has it.
struct State {
  Watches<Explored> watches;
  Watch<Explored> watch[2];
  Explored::atomic<std::uint64_t> record{0};  ///< odd: locked
  int value = 0;
  int finished = 0;
  State() {
    for (auto& each : watch) watches.add(each);
  }
};
std::unique_ptr<State> state;

/// Until the value is `wanted` or more.
template <int wanted>
void waits(int me) {
  State& s = *state;
  while (true) {
    const std::uint64_t seen = s.record.load(std::memory_order_acquire);
    if (seen % 2 != 0) continue;
    const int value = s.value;
    if (s.record.load(std::memory_order_acquire) != seen) continue;
    if (value >= wanted) break;
    s.watches.set(s.watch[me], of(kPlace), kKind);
    if (s.record.load(std::memory_order_acquire) == seen || has_fault(Fault::watch_not_rechecked)) {
      s.watches.sleep(s.watch[me]);
    } else {
      s.watches.clear(s.watch[me]);
    }
  }
  ++s.finished;
}

template <int times>
void writes(int) {
  State& s = *state;
  for (int i = 0; i < times; ++i) {
    const std::uint64_t before = s.record.load(std::memory_order_relaxed);
    s.record.exchange(before + 1, std::memory_order_seq_cst);
    ++s.value;
    s.record.store(before + 2, std::memory_order_release);
    if (s.watches.any()) s.watches.wake(of(kPlace), kKind);
  }
  ++s.finished;
}

bool someone_sleeps_for_ever(const std::vector<std::function<void(int)>>& bodies) {
  bool is_wrong = false;
  Explorer::sample(
      20000,
      [&] {
        state = std::make_unique<State>();
        Explored::wakes().clear();
        return Explorer::numbered(bodies);
      },
      [&] { is_wrong |= state->finished != static_cast<int>(bodies.size()) || state->watches.any(); },
      [&] { return is_wrong; });
  return is_wrong;
}

TEST(Watch, NoWriteIsMissed) {
  EXPECT_FALSE(someone_sleeps_for_ever({waits<1>, writes<1>}));
  EXPECT_FALSE(someone_sleeps_for_ever({waits<2>, writes<2>}));
  EXPECT_FALSE(someone_sleeps_for_ever({waits<1>, waits<2>, writes<2>}));
}
TEST(WatchFaults, SleepingWithoutALastLookIsFound) {
  fault = Fault::watch_not_rechecked;
  EXPECT_TRUE(someone_sleeps_for_ever({waits<1>, writes<1>}));
  fault = Fault::none;
}
TEST(Watch, WakesByPlaceAndForAnotherKind) {
  State s;
  const auto is_woken_by = [&s](const Signature& writes, std::uintptr_t kind) {
    s.watches.set(s.watch[0], of(kPlace), kKind);
    s.watches.wake(writes, kind);
    const bool is_woken = s.watch[0].is_set.now() == 0;
    s.watches.clear(s.watch[0]);
    return is_woken;
  };
  std::uintptr_t other = kPlace + 8;
  while (of(other)[0] == of(kPlace)[0] && of(other)[1] == of(kPlace)[1] && of(other)[2] == of(kPlace)[2])
    other += 8;
  EXPECT_TRUE(is_woken_by(of(kPlace), kKind));
  EXPECT_FALSE(is_woken_by(of(other), kKind));
  EXPECT_TRUE(is_woken_by(of(other), kKind + 1));
  Signature all;
  all.add_all();
  EXPECT_TRUE(is_woken_by(all, kKind));
}

}  // namespace
}  // namespace rubato::tm
