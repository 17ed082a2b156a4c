// Tasks that wait in system calls (C18): what must happen meanwhile, and what must not.
//
//   task_waits ring N      N tasks each wait for a pipe; the last one created starts a round
//   task_waits may N       so do N MAYSPEC tasks, which have tried it speculatively before they could wait
//   task_waits sleep       eight tasks sleep for a millisecond each, and print for how long together
//   task_waits own         what the waiting task has locked and set is not the other tasks'
//   task_waits condition   a task waits for what one created after it says, twice
//   task_waits order       a task that has waited changes what later tasks, speculative, have read
//   task_waits preempt     a task that has waited comes back to a core whose task runs until it does
//   task_waits endless     a task waits for one that needs the core of an attempt that waits for the first
//   task_waits mutex       SPEC tasks want a mutex that NONSPEC ones hold while they sleep
//   task_waits naps        tasks that sleep create each other until a SPEC one says that it is over
//   task_waits hidden      one waits for a MAYSPEC task behind a SPEC one that waits until none does
//   task_waits hidden_child  such a one is its child, behind a SPEC child
//   task_waits hidden_grandchild  it is the child of a SPEC grandchild, behind a SPEC child
//   task_waits count N     one waits for N others beside such a SPEC task
//   task_waits atomic      SPEC tasks that wait between a load and a store of one word
//   task_waits forever N   N tasks wait for a word that no task writes
//   task_waits unordered   so does one without a timestamp, and another for its locale
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "rubato/rubato.hpp"

namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;

alignas(64) std::uint64_t wrong = 0;

void check(bool holds, const char* what) {
  if (holds) return;
  std::printf("not so: %s\n", what);
  wrong = 1;
}

std::uint64_t nanoseconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

void sleep_for(std::uint64_t ns) {
  const timespec t{0, static_cast<long>(ns)};
  nanosleep(&t, nullptr);
}

// ---- ring ----

int pipes[65][2];
std::uint64_t hops = 0;

void pass_on(std::uint64_t i) {
  std::uint64_t token = 0;
  check(read(pipes[i][0], &token, sizeof token) == sizeof token, "a token arrives");
  check(token == i, "the token counts the tasks it has been to");
  ++token;
  ++hops;
  check(write(pipes[i + 1][1], &token, sizeof token) == sizeof token, "a token leaves");
}

void start(std::uint64_t) {
  const std::uint64_t token = 0;
  check(write(pipes[0][1], &token, sizeof token) == sizeof token, "the first token leaves");
}

void linger() {
  for (int i = 0; i < 5000; ++i) asm volatile("");
}

template <rubato::TaskType type>
void ring(std::uint64_t tasks) {
  for (std::uint64_t i = 0; i <= tasks; ++i) check(pipe(pipes[i]) == 0, "there are pipes");
  rubato::create<rubato::nonspec>(linger, {.at = 0});
  for (std::uint64_t i = 0; i < tasks; ++i) rubato::create<type>(pass_on, {.at = 1}, i);
  rubato::create<type>(start, {.at = 1}, std::uint64_t{0});
  rubato::run();
  check(hops == tasks, "the token has been everywhere");
}

// ---- sleep ----

void sleeper(std::uint64_t ns) { sleep_for(ns); }

void sleep_all() {
  const std::uint64_t begin = nanoseconds();
  for (std::uint64_t i = 0; i < 8; ++i) rubato::create<rubato::nonspec>(sleeper, {}, kMillisecond);
  rubato::run();
  std::printf("%llu us\n", static_cast<unsigned long long>((nanoseconds() - begin) / 1000));
}

// ---- own ----

pthread_mutex_t recursive;
thread_local std::uint64_t of_thread = 0;
alignas(64) bool is_asleep = false;
alignas(64) std::uint64_t looked = 0;

void looker(std::uint64_t) {
  if (!is_asleep) return;
  ++looked;
  if (pthread_mutex_trylock(&recursive) == 0) wrong = 1;
  if (ftrylockfile(stdout) == 0) wrong = 1;
  if (of_thread != 0) wrong = 1;
}

void neighbour(std::uint64_t) { check(!is_asleep, "no two tasks of one locale are under way at once"); }

void holder(std::uint64_t) {
  check(pthread_mutex_lock(&recursive) == 0, "a task locks a mutex");
  flockfile(stdout);
  std::fputs("one ", stdout);
  of_thread = 7;
  is_asleep = true;
  rubato::create<rubato::nonspec>(looker, {.at = 1, .on = 2}, std::uint64_t{0});
  rubato::create<rubato::nonspec>(neighbour, {.at = 1, .on = 1}, std::uint64_t{0});
  sleep_for(kMillisecond);
  is_asleep = false;
  check(of_thread == 7, "a thread-local variable keeps its value over a system call");
  std::fputs("line\n", stdout);
  funlockfile(stdout);
  pthread_mutex_unlock(&recursive);
}

void own() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &attributes);
  rubato::create<rubato::nonspec>(holder, {.at = 1, .on = 1}, std::uint64_t{0});
  rubato::run();
  check(looked == 1, "a task runs while another sleeps");
}

// ---- condition ----

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
std::uint64_t turn = 0;

void wait_for_turn(std::uint64_t wanted) {
  pthread_mutex_lock(&mutex);
  while (turn != wanted) pthread_cond_wait(&changed, &mutex);
  turn = wanted + 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

void odd(std::uint64_t) {
  wait_for_turn(1);
  wait_for_turn(3);
}
void even(std::uint64_t) {
  wait_for_turn(0);
  wait_for_turn(2);
}

void condition() {
  rubato::create<rubato::nonspec>(odd, {}, std::uint64_t{0});
  rubato::create<rubato::nonspec>(even, {}, std::uint64_t{0});
  rubato::run();
  check(turn == 4, "the tasks took turns");
}

// ---- mutex ----

std::uint64_t locked = 0;

void lock_and_sleep(std::uint64_t) {
  pthread_mutex_lock(&mutex);
  sleep_for(kMillisecond / 1000);
  ++locked;
  pthread_mutex_unlock(&mutex);
}
void lock(std::uint64_t) {
  pthread_mutex_lock(&mutex);
  ++locked;
  pthread_mutex_unlock(&mutex);
}

void share_mutex() {
  for (std::uint64_t i = 0; i < 4; ++i) {
    rubato::create<rubato::nonspec>(lock_and_sleep, {.at = 1}, i);
    rubato::create<rubato::spec>(lock, {.at = 2}, i);
    rubato::create<rubato::spec>(lock, {.at = 1}, i);
    rubato::create<rubato::spec>(lock, {}, i);
    rubato::create<rubato::mayspec>(lock, {.at = 1}, i);
  }
  rubato::run();
  check(locked == 20, "everybody has had the mutex");
}

// ---- naps ----

void nap(std::uint64_t i) {
  sleep_for(kMillisecond / 100 + 777 * i);
  if (locked == 0) rubato::create<rubato::nonspec>(nap, {}, i);
}

void naps() {
  for (std::uint64_t i = 0; i < 4; ++i) rubato::create<rubato::nonspec>(nap, {}, i);
  rubato::create<rubato::nonspec>(
      [](std::uint64_t) {
        sleep_for(kMillisecond / 20);
        rubato::create<rubato::spec>([](std::uint64_t) { ++locked; }, {.at = 2}, std::uint64_t{0});
      },
      {.at = 1}, std::uint64_t{0});
  rubato::run();
  check(locked == 1, "it is over");
}

// ---- hidden, count ----

void take_token(std::uint64_t) {
  std::uint64_t token = 0;
  check(read(pipes[0][0], &token, sizeof token) == sizeof token, "a token arrives");
  ++hops;
}

void hidden() {
  check(pipe(pipes[0]) == 0, "there are pipes");
  rubato::create<rubato::nonspec>(linger, {.at = 0});
  rubato::create<rubato::nonspec>(take_token, {.at = 1}, std::uint64_t{0});
  rubato::create<rubato::spec>([](std::uint64_t) { ++locked; }, {.at = 1}, std::uint64_t{0});
  rubato::create<rubato::mayspec>(start, {.at = 1}, std::uint64_t{0});
  rubato::run();
  check(hops == 1 && locked == 1, "all have run");
}

bool has_grandchild = false;

void write_later(std::uint64_t) {
  ++locked;
  rubato::create<rubato::nonspec>(start, {}, std::uint64_t{0});
}
void create_writer(std::uint64_t) { rubato::create<rubato::spec>(write_later, {}, std::uint64_t{0}); }

void hide_and_take() {
  rubato::create<rubato::spec>([](std::uint64_t) { ++locked; }, {}, std::uint64_t{0});
  has_grandchild ? rubato::create<rubato::nonspec>(create_writer, {}, std::uint64_t{0})
                 : rubato::create<rubato::mayspec>(start, {}, std::uint64_t{0});
  take_token(0);
}

void hidden_child() {
  check(pipe(pipes[0]) == 0, "there are pipes");
  rubato::create<rubato::nonspec>(hide_and_take, {});
  rubato::run();
  check(hops == 1 && locked == (has_grandchild ? 2 : 1), "all have run");
}

void wait_for_count(std::uint64_t wanted) {
  pthread_mutex_lock(&mutex);
  while (turn != wanted) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
}
void count_one(std::uint64_t wanted) {
  pthread_mutex_lock(&mutex);
  if (++turn == wanted) pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

void count(std::uint64_t tasks) {
  rubato::create<rubato::nonspec>(linger, {.at = 0});
  rubato::create<rubato::nonspec>(wait_for_count, {.at = 1}, tasks);
  rubato::create<rubato::spec>([](std::uint64_t) { ++locked; }, {.at = 1}, std::uint64_t{0});
  for (std::uint64_t i = 0; i < tasks; ++i) rubato::create<rubato::nonspec>(count_one, {.at = 1}, tasks);
  rubato::run();
  check(turn == tasks && locked == 1, "all have run");
}

// ---- order ----

struct alignas(64) Word {
  std::uint64_t value = 0;
};
constexpr std::uint64_t kWords = 20;
Word words[kWords], seen[kWords];

void set_late(std::uint64_t) {
  sleep_for(kMillisecond / 10);
  for (Word& word : words) ++word.value;
}
void see(std::uint64_t i) { seen[i].value = words[i].value; }

void order() {
  rubato::create<rubato::nonspec>(set_late, {.at = 1}, std::uint64_t{0});
  for (std::uint64_t i = 0; i < kWords; ++i) rubato::create<rubato::spec>(see, {.at = 2 + i}, i);
  rubato::create<rubato::nonspec>(set_late, {.at = 100}, std::uint64_t{0});
  rubato::run();
  for (std::uint64_t i = 0; i < kWords; ++i)
    check(seen[i].value == 1, "later tasks see what earlier ones wrote");
}

// ---- preempt ----

void spin(std::uint64_t) {
  while (__atomic_load_n(&words[0].value, __ATOMIC_RELAXED) == 0) {
  }
}

void preempt() {
  rubato::create<rubato::nonspec>(set_late, {.at = 1}, std::uint64_t{0});
  for (std::uint64_t i = 0; i < 20; ++i) rubato::create<rubato::spec>(spin, {.at = 2 + i}, i);
  rubato::run();
  check(words[0].value == 1, "the task that waited has run");
}

// ---- atomic ----

void count_slowly(std::uint64_t) {
  const std::uint64_t value = words[0].value;
  sleep_for(kMillisecond / 100);
  words[0].value = value + 1;
}

void atomic() {
  for (std::uint64_t i = 0; i < 10; ++i) {
    rubato::create<rubato::spec>(count_slowly, {.at = 1}, i);
    rubato::create<rubato::nonspec>(sleeper, {.at = 1}, kMillisecond / 100);
  }
  rubato::run();
  check(words[0].value == 10, "nothing comes between what a SPEC task does");
}

// ---- endless ----

struct alignas(64) Cell {
  std::uint64_t value = 0;
};
Cell has_woken, has_run;

void run_on() {
  while (__atomic_load_n(&has_woken.value, __ATOMIC_RELAXED) == 0) asm volatile("");
  ++has_run.value;
}

void write_token() {
  const std::uint64_t token = 1;
  check(write(pipes[0][1], &token, sizeof token) == sizeof token, "a token leaves");
}

void wait_for_writer() {
  linger();  // until run_on() runs
  rubato::create<rubato::nonspec>(write_token, {});
  std::uint64_t token = 0;
  check(read(pipes[0][0], &token, sizeof token) == sizeof token, "a token arrives");
  __atomic_store_n(&has_woken.value, 1, __ATOMIC_RELAXED);
}

void endless() {
  check(pipe(pipes[0]) == 0, "there are pipes");
  rubato::create<rubato::nonspec>(wait_for_writer, {.at = 0});
  rubato::create<rubato::spec>(run_on, {.at = 5});
  rubato::run();
  check(has_run.value == 1, "it ran to its end once");
}

// ---- forever ----

void read_nothing(std::uint64_t) {
  char byte;
  check(read(pipes[0][0], &byte, 1) == 1, "a byte arrives");
}

void forever(std::uint64_t tasks) {
  check(pipe(pipes[0]) == 0, "there are pipes");
  for (std::uint64_t i = 0; i < tasks; ++i) rubato::create<rubato::nonspec>(read_nothing, {.at = 1}, i);
  rubato::run();
}

void create_both() {
  for (std::uint64_t i = 0; i < 2; ++i) rubato::create<rubato::mayspec>(read_nothing, {.on = 1}, i);
}
void unordered() {
  check(pipe(pipes[0]) == 0, "there are pipes");
  rubato::create<rubato::nonspec>(create_both, {});
  rubato::run();
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (std::strcmp(what, "ring") == 0) ring<rubato::nonspec>(std::strtoull(argv[2], nullptr, 10));
  if (std::strcmp(what, "may") == 0) ring<rubato::mayspec>(std::strtoull(argv[2], nullptr, 10));
  if (std::strcmp(what, "sleep") == 0) sleep_all();
  if (std::strcmp(what, "own") == 0) own();
  if (std::strcmp(what, "condition") == 0) condition();
  if (std::strcmp(what, "mutex") == 0) share_mutex();
  if (std::strcmp(what, "naps") == 0) naps();
  if (std::strcmp(what, "hidden") == 0) hidden();
  has_grandchild = std::strcmp(what, "hidden_grandchild") == 0;
  if (has_grandchild || std::strcmp(what, "hidden_child") == 0) hidden_child();
  if (std::strcmp(what, "count") == 0) count(std::strtoull(argv[2], nullptr, 10));
  if (std::strcmp(what, "order") == 0) order();
  if (std::strcmp(what, "preempt") == 0) preempt();
  if (std::strcmp(what, "atomic") == 0) atomic();
  if (std::strcmp(what, "endless") == 0) endless();
  if (std::strcmp(what, "forever") == 0) forever(std::strtoull(argv[2], nullptr, 10));
  if (std::strcmp(what, "unordered") == 0) unordered();
  std::printf("check: %s\n", wrong == 0 ? "passed" : "failed");
  return wrong == 0 ? 0 : 1;
}
