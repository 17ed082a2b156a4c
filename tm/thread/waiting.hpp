// Waiting for another thread's word: some microseconds of looking, some yields, then sleep; never unbounded
// or blind (T35). The thread that changes the word looks at `waited` afterwards. This look and the
// change are ordered without a fence on its side: the waiter's heavy fence does it for both.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace rubato::tm {

/// Returns when `word` is not `seen` any more, or when is_over() says so. `nudge` is called before each
/// longer wait. `is_repeated`: looks again after a millisecond. It is for a wait that can be over without a
/// change of the word, or whose nudge can get lost.
template <class A, class Word, class IsOver, class Nudge>
void wait_until(Word& word, std::uint32_t seen, Word& waited, bool is_repeated, IsOver is_over, Nudge nudge) {
  for (int i = 0; i < A::kLongSpins; ++i) {
    if (word.load(std::memory_order_acquire) != seen || is_over()) return;
    A::pause();
  }
  nudge();
  for (int i = 0; i < A::kYields; ++i) {
    if (word.load(std::memory_order_acquire) != seen || is_over()) return;
    A::yield();
  }
  if (word.load(std::memory_order_acquire) != seen || is_over()) return;
  // A count that waiters alone change, not a mark that the waker clears. The waker would also clear the mark
  // of a waiter that has come since the change, and is about to sleep until the next one.
  waited.fetch_add(1, std::memory_order_seq_cst);
  while (true) {
    A::heavy_fence();
    nudge();
    if (word.load(std::memory_order_seq_cst) != seen || is_over()) break;
    A::sleep(word, seen, is_repeated ? 1000 : 0);
  }
  waited.fetch_sub(1, std::memory_order_relaxed);
}

template <class A, class Word>
void wait_for_change(Word& word, std::uint32_t seen, Word& waited) {
  wait_until<A>(
      word, seen, waited, false, [] { return false; }, [] {});
}

/// After `word` was changed.
template <class A, class Word>
[[gnu::noinline]] void wake_all(Word& word) {
  A::wake(word, 1 << 30);
}
template <class A, class Word>
[[gnu::always_inline]] inline void wake_waiters(Word& word, Word& waited) {
  A::light_fence();
  if (__builtin_expect(waited.load(std::memory_order_relaxed) != 0, false)) wake_all<A>(word);
}

}  // namespace rubato::tm
