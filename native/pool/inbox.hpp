// How workers empty the inbox, where threads outside put what they create. R9.
//
// A pool is no longer the worker's when finish() has told that it is empty, and only then the worker has the
// last task (Pool::drain). If the thread that created it pushes another one now, a second worker could take
// that and hand it on before the last one. So one worker at a time empties the inbox, until the last task is
// handed on.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "native/pool/pool.hpp"
#include "native/pool/ready_set.hpp"

namespace rubato::inline v0::native {

/// The rules of a correct inbox. Tests derive from it to build mutants, which they must catch.
struct InboxRules {
  static constexpr bool kOneAtATime = true;
  static constexpr bool kWaitsForPushes = true;
};

enum class Emptied : std::uint8_t { nothing, another_does, all, all_but_newer, not_all };
inline bool has_emptied(Emptied emptied) { return emptied > Emptied::another_does; }

/// @tparam Inbox  a Pool that `ready` has as its only one
/// `is_being_emptied`: of all workers, false at first. `use(task)`: hands it on; it may throw.
/// @returns another_does: it may be ready, and then stays so; not_all: a push is half-linked
template <class Rules = InboxRules, class Inbox, class Ready, class Flag, class Use>
Emptied empty_in_order(Inbox& inbox, Ready& ready, Flag& is_being_emptied, unsigned rank, Use use) {
  if (ready.is_empty(rank)) return Emptied::nothing;
  if (Rules::kOneAtATime && is_being_emptied.exchange(true, std::memory_order_acquire))
    return Emptied::another_does;
  const struct LetsGo {
    Flag& flag;
    ~LetsGo() {
      if (Rules::kOneAtATime) flag.store(false, std::memory_order_release);
    }
  } lets_go{is_being_emptied};
  unsigned last = 0;
  if (ready.claim(rank, last) == kNoPool) return Emptied::nothing;
  const Drained drained = inbox.drain(use);
  if (drained == Drained::all) return Emptied::all;
  ready.add(0, rank);  // the thread that pushed has told no worker: the inbox was not empty
  return drained == Drained::all_but_newer ? Emptied::all_but_newer : Emptied::not_all;
}

/// While no worker empties it: all that was pushed before the call, by the caller above all. That may stand
/// behind a push of another thread that has not linked its task yet, or not made the inbox ready. What other
/// threads push meanwhile may wait: they may go on for ever.
/// `empty_once()`: as empty_in_order(). `wait()`: other threads go on.
template <class Rules = InboxRules, class Inbox, class EmptyOnce, class Wait>
void empty_wholly(const Inbox& inbox, EmptyOnce empty_once, Wait wait) {
  while (!inbox.is_empty()) {
    const Emptied emptied = empty_once();
    if (emptied == Emptied::all || emptied == Emptied::all_but_newer || !Rules::kWaitsForPushes) return;
    wait();
  }
}

}  // namespace rubato::inline v0::native
