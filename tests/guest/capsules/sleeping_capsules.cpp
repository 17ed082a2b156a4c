// Calls that wait, in capsules of speculative tasks (P40, P50, P51): such a task leaves its core with its
// attempt, and others run there; it may be aborted meanwhile, or become non-speculative; what is left of it
// ends its capsule. `overlap`: many sleep at once beside one core; `ledger`: tasks that conflict sleep
// between what they do in tracked and in untracked memory, and both agree at the end; `pipe`: a capsule reads
// what a later task's capsule writes; `place`: a MAYSPEC task becomes the earliest while it sleeps.
// SPDX-License-Identifier: MIT
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "rubato/capsule.hpp"
#include "rubato/rubato.hpp"

namespace {

namespace capsule = rubato::capsule;

struct Seen {
  volatile std::uint64_t slept, speculative, doomed, handled, taken, begun;
  volatile int ends[2];
  volatile char text[64];
};
RUBATO_UNTRACKED rubato::untracked<Seen> seen;
alignas(64) volatile std::uint64_t sum;
alignas(64) volatile std::uint64_t twice;
alignas(64) volatile std::uint64_t other;
constexpr std::uint64_t kTasks = 40;

void count(volatile std::uint64_t& counter, std::uint64_t by = 1) {
  __atomic_fetch_add(&counter, by, __ATOMIC_RELAXED);
}

}  // namespace

RUBATO_CAPSULE(void, sleep_for, (std::uint64_t ns)) {
  count(seen->begun);
  const timespec time{0, static_cast<std::int64_t>(ns)};
  if (capsule::system_call(SYS_nanosleep, &time, 0) == 0) count(seen->slept);
  count(seen->speculative, capsule::is_speculative() ? 1 : 0);
  count(seen->doomed, capsule::is_doomed() ? 1 : 0);
}

// Takes, waits, and takes once more.
RUBATO_CAPSULE(std::uint64_t, take_twice,
               (volatile std::uint64_t * first, volatile std::uint64_t* second, std::uint64_t ns)) {
  constexpr auto kGiveBack = [](std::uint64_t n) {
    count(seen->taken, -n);
    count(seen->handled);
  };
  count(seen->taken);
  capsule::on_abort(kGiveBack, std::uint64_t{1});
  const std::uint64_t before = *first;
  *first = before + 1;
  const timespec time{0, static_cast<std::int64_t>(ns)};
  capsule::system_call(SYS_nanosleep, &time, 0);
  count(seen->taken, 2);
  capsule::on_abort(kGiveBack, std::uint64_t{2});
  *second = *second + 2;
  count(seen->doomed, capsule::is_doomed() ? 1 : 0);
  return before;
}

RUBATO_CAPSULE(std::int64_t, read_some, ()) {
  char text[8];
  pollfd one{seen->ends[0], POLLIN, 0};
  if (capsule::system_call(SYS_ppoll, &one, 1, 0, 0, 0) != 1 || (one.revents & POLLIN) == 0) return -1;
  const std::int64_t bytes = capsule::system_call(SYS_read, seen->ends[0], text, sizeof text);
  for (std::int64_t i = 0; i < bytes; ++i) seen->text[i] = text[i];
  count(seen->speculative, capsule::is_speculative() ? 1 : 0);
  return bytes;
}

RUBATO_CAPSULE(void, write_some, ()) { capsule::system_call(SYS_write, seen->ends[1], "seven..", 7); }

namespace {

std::uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

// The first task keeps its core all the time.
bool overlap() {
  constexpr std::uint64_t kSleepers = 8, kTime = 20'000;
  rubato::create<rubato::nonspec>(
      [] {
        while (seen->slept != kSleepers) {
        }
      },
      {.at = 0});
  for (std::uint64_t t = 1; t <= kSleepers; ++t)
    rubato::create<rubato::spec>([] { sleep_for(kTime); }, {.at = t});
  const std::uint64_t since = now();
  rubato::run();
  const std::uint64_t took = now() - since;
  std::printf("slept %lu, speculative %lu, %s\n", seen->slept, seen->speculative,
              took < 2 * kTime ? "at once" : "one after the other");
  return took >= kTime;
}

bool ledger() {
  for (std::uint64_t t = 0; t < kTasks; ++t)
    rubato::create<rubato::spec>(
        [](std::uint64_t number) {
          take_twice(&sum, &twice, 300 + number * 7919 % 1000);
          other = other + 3;
        },
        {.at = t, .on = t % 3 != 0 ? t % 5 : t}, t);
  rubato::run();
  std::printf("sum %lu and %lu, other %lu, taken %lu\n", sum, twice, other, seen->taken);
  std::fprintf(stderr, "doomed %lu, handled %lu\n", seen->doomed, seen->handled);
  return sum == kTasks && twice == 2 * kTasks && seen->taken == 3 * kTasks && other == 3 * kTasks;
}

bool pipes() {
  int ends[2];
  if (pipe(ends) != 0) return false;
  seen->ends[0] = ends[0];
  seen->ends[1] = ends[1];
  rubato::create<rubato::spec>([] { sum = static_cast<std::uint64_t>(read_some()); }, {.at = 1});
  rubato::create<rubato::spec>([] { write_some(); }, {.at = 2});
  rubato::run();
  std::printf("bytes %lu, text %.7s, speculative %lu\n", sum, const_cast<const char*>(seen->text),
              seen->speculative);
  return true;
}

// The first sleeps less than the second, which is the earliest when it goes on.
bool place() {
  rubato::create<rubato::nonspec>(
      [] {
        while (seen->begun == 0) {
        }
        other = 1;
      },
      {.at = 0});
  rubato::create<rubato::mayspec>(
      [] {
        sum = sum + 1;
        sleep_for(20'000);
        sum = sum + 1;
      },
      {.at = 1});
  rubato::run();
  std::printf("begun %lu, slept %lu, speculative %lu, sum %lu\n", seen->begun, seen->slept, seen->speculative,
              sum);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "ledger";
  const bool is_right = std::strcmp(what, "overlap") == 0 ? overlap()
                        : std::strcmp(what, "pipe") == 0  ? pipes()
                        : std::strcmp(what, "place") == 0 ? place()
                                                          : ledger();
  return is_right ? 0 : 1;
}
