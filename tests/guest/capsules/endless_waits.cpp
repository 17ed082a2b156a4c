// Calls of capsules that wait, where waiting must not be the end (P40, P50): `wrong`: tasks that went wrong
// wait for what never comes; `readers`: more of them than workers wait for what an earlier task writes;
// `signal`: a signal comes while the tasks of two cores sleep.
// SPDX-License-Identifier: MIT
#include <signal.h>
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
  volatile std::uint64_t slept, doomed, handled, begun;
  volatile int ends[2];
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
  const timespec time{0, static_cast<std::int64_t>(ns)};
  if (capsule::system_call(SYS_nanosleep, &time, 0) == 0) count(seen->slept);
}

// Takes one byte of the pipe, which goes back if the task is aborted.
RUBATO_CAPSULE(std::int64_t, take_byte, ()) {
  constexpr auto kGiveBack = [](std::uint64_t) {
    if (write(seen->ends[1], "x", 1) == 1) count(seen->handled);
  };
  count(seen->begun);
  char byte = 0;
  const std::int64_t bytes = capsule::system_call(SYS_read, seen->ends[0], &byte, 1);
  if (bytes == 1) capsule::on_abort(kGiveBack, std::uint64_t{1});
  count(seen->doomed, capsule::is_doomed() ? 1 : 0);
  return bytes;
}

namespace {

bool make_pipe() {
  int ends[2];
  if (pipe(ends) != 0) return false;
  seen->ends[0] = ends[0];
  seen->ends[1] = ends[1];
  return true;
}

// Attempts that begin before the first task has stored read a value that no task ever writes.
bool wrong() {
  if (!make_pipe()) return false;
  rubato::create<rubato::nonspec>(
      [] {
        while (seen->begun == 0) {
        }
        other = 1;
      },
      {.at = 0});
  for (std::uint64_t t = 0; t < kTasks; ++t)
    rubato::create<rubato::spec>(
        [] {
          if (other == 0) take_byte();
          sum = sum + 1;
        },
        {.at = 1});
  rubato::run();
  std::printf("sum %lu, doomed %s\n", sum, seen->doomed != 0 ? "some" : "none");
  return sum == kTasks;
}

// The writers begin when readers have all workers.
bool readers() {
  if (!make_pipe()) return false;
  rubato::create<rubato::spec>(
      [] {
        for (int i = 0; i < 3000; ++i) other = other + 1;
        for (std::uint64_t t = 0; t < kTasks; ++t)
          rubato::create<rubato::nonspec>(
              [] { count(seen->slept, write(seen->ends[1], "x", 1) == 1 ? 1 : 0); }, {.at = 1});
      },
      {.at = 0});
  for (std::uint64_t t = 0; t < kTasks; ++t)
    rubato::create<rubato::spec>([] { twice = twice + (take_byte() == 1 ? 2 : 0); }, {.at = 2});
  rubato::run();
  std::printf("written %lu, read %lu\n", seen->slept, twice / 2);
  return seen->slept == kTasks && twice == 2 * kTasks;
}

volatile sig_atomic_t alarms;

bool signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { alarms = alarms + 1; };
  sigaction(SIGALRM, &action, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return false;
  const itimerspec once{{}, {0, 10'000}};
  timer_settime(timer, 0, &once, nullptr);
  for (std::uint64_t t = 1; t <= 2; ++t) rubato::create<rubato::spec>([] { sleep_for(20'000); }, {.at = t});
  rubato::run();
  getppid();
  std::printf("slept %lu, alarms %d\n", seen->slept, static_cast<int>(alarms));
  return alarms == 1;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "wrong";
  const bool is_right = std::strcmp(what, "readers") == 0  ? readers()
                        : std::strcmp(what, "signal") == 0 ? signals()
                                                           : wrong();
  return is_right ? 0 : 1;
}
