// bad_capsules static|thread|back|lock|order|kept|held|create: a task calls a capsule that does what none
// must; order: two tasks do so together.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "rubato/capsule.hpp"
#include "rubato/rubato.hpp"

namespace {

volatile std::uint64_t limit = 5;
thread_local volatile std::uint64_t last = 0;
RUBATO_UNTRACKED rubato::untracked<rubato::capsule::TicketLock> lock_twice;
RUBATO_UNTRACKED rubato::untracked<rubato::capsule::TicketLock> lock_first, lock_second;
RUBATO_UNTRACKED rubato::untracked<std::uint64_t> inside;
std::uint64_t word;

/// Takes both locks, the second when the other task has its first.
[[gnu::always_inline]] inline void take_both(rubato::capsule::TicketLock& one,
                                             rubato::capsule::TicketLock& other) {
  one.lock();
  __atomic_fetch_add(&*inside, 1, __ATOMIC_RELAXED);
  while (__atomic_load_n(&*inside, __ATOMIC_RELAXED) < 2) {
  }
  other.lock();
  other.unlock();
  one.unlock();
}

}  // namespace

RUBATO_CAPSULE(std::uint64_t, use_static, ()) { return limit; }
RUBATO_CAPSULE(std::uint64_t, use_thread, ()) { return last; }
RUBATO_CAPSULE(std::uint64_t, read_back, (volatile std::uint64_t * of_caller)) {
  *of_caller = 1;
  return *of_caller;
}
RUBATO_CAPSULE(void, wait_for_itself, ()) {
  lock_twice->lock();
  lock_twice->lock();
}

RUBATO_CAPSULE(void, take_upwards, ()) { take_both(*lock_first, *lock_second); }
RUBATO_CAPSULE(void, take_downwards, ()) { take_both(*lock_second, *lock_first); }

RUBATO_CAPSULE(void, keep_lock, ()) { lock_twice->lock(); }
RUBATO_CAPSULE(void, use_of_callers, (volatile std::uint64_t * of_caller)) {
  lock_twice->lock();
  *of_caller = 1;
  lock_twice->unlock();
  *of_caller = 2;
}
RUBATO_CAPSULE(void, create_locked, ()) {
  lock_twice->lock();
  rubato::create<rubato::nonspec>([] {}, {});
  lock_twice->unlock();
}

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "static") rubato::create<rubato::spec>([] { use_static(); }, {.at = 1});
  if (what == "thread") rubato::create<rubato::spec>([] { use_thread(); }, {.at = 1});
  if (what == "back") rubato::create<rubato::spec>([] { read_back(&word); }, {.at = 1});
  if (what == "lock") rubato::create<rubato::spec>([] { wait_for_itself(); }, {.at = 1});
  if (what == "order") {
    rubato::create<rubato::spec>([] { take_upwards(); }, {.at = 1});
    rubato::create<rubato::spec>([] { take_downwards(); }, {.at = 2});
  }
  if (what == "kept") rubato::create<rubato::spec>([] { keep_lock(); }, {.at = 1});
  if (what == "held") rubato::create<rubato::spec>([] { use_of_callers(&word); }, {.at = 1});
  if (what == "create") rubato::create<rubato::spec>([] { create_locked(); }, {.at = 1});
  rubato::run();
}
