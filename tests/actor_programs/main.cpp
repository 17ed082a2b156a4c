// Random actor programs, one after another in one process: prints a line "SEED DIGEST MESSAGES" for each. The
// serial and the native engine must print the same lines (A68; tests/differential/run.py compares). Exit code
// 1 if something was found wrong, with the seed and what it was.
// SPDX-License-Identifier: MIT
#include <cinttypes>
#include <cstdio>
#include <typeinfo>

#include "tests/actor_programs/outside.hpp"
#include "tests/actor_programs/program.hpp"
#include "tests/actor_programs/stations.hpp"
#include "tests/differential/seeds.hpp"

#if defined(RUBATO_PERTURBED)
#include "base/perturbation.hpp"
#endif

namespace actor_programs {
namespace {

void prepare([[maybe_unused]] std::uint64_t seed) {
#if defined(RUBATO_PERTURBED)
  perturb_by(seed);
#endif
}

std::uint64_t digest_of(const State& s) {
  std::uint64_t digest = mix64(s.sum);
  for (const std::atomic<std::uint64_t>* count : {&s.jobs, &s.handled, &s.dead_jobs, &s.asked, &s.watched,
                                                  &s.timers, &s.pulses, &s.clocks, &s.events, &s.toils})
    digest = mix64(digest ^ *count);
  return digest;
}

void expect_equal(State& s, std::uint64_t one, std::uint64_t other, const char* sentence) {
  if (one == other) return;
  s.violate(std::string(sentence) + ": " + std::to_string(one) + " and " + std::to_string(other));
}

/// Checks that hold in every order.
void check(State& s, const ActorCounters& before, const ActorCounters& after) {
  expect_equal(s, s.handled + s.dead_jobs, s.jobs, "jobs handled or dead, and sent");
  expect_equal(s, s.handled_pulses + s.dead_pulses, s.pulses, "pulses handled or dropped, and sent");
  expect_equal(s, s.answers, s.asked, "answers, and questions");
  expect_equal(s, s.downs, s.watched, "ends that were told, and watched actors");
  expect_equal(s, s.due, s.timers, "timers that came, and set");
  expect_equal(s, s.ended_clocks, s.clocks, "clocks that ended, and were spawned");
  expect_equal(s, s.handled_events + s.dead_events, s.events, "events handled or dead, and sent");
  expect_equal(s, s.ended_stations, s.stations, "stations and relays that ended, and were spawned");
  expect_equal(s, s.toiled, s.toils, "toils handled, and sent");
  expect_equal(s, s.ended_crews, s.crews, "crews that ended, and began");
  expect_equal(s, s.destroyed, s.made, "behaviors destroyed, and made");
  expect_equal(s, after.stopped - before.stopped, after.spawned - before.spawned,
               "actors stopped, and spawned");
}

/// Whether nothing was found wrong.
bool run_program(std::uint64_t seed) {
  State current;
  Cast actors;
  state = &current;
  cast = &actors;
  prepare(seed);
  const ActorCounters before = actor_counters();
  const auto listening = on_dead_letter([&current](const DeadLetter& letter) {
    if (*letter.type == typeid(Job)) ++current.dead_jobs;
    if (*letter.type == typeid(Pulse)) ++current.dead_pulses;
    if (*letter.type == typeid(Event)) ++current.dead_events;
  });
  try {
    const unsigned threads = threads_of(seed);
    begin(seed, threads != 0);
    {
      const Outside outside(seed, threads);
      run();
    }
    end();
    run();
  } catch (const TaskError& e) {
    current.violate(e.what());
  }
  check(current, before, actor_counters());
  std::printf("%" PRIu64 " %016" PRIx64 " %" PRIu64 "\n", seed, digest_of(current), current.handled.load());
  if (current.violations == 0) return true;
  std::fflush(stdout);
  std::fprintf(stderr, "seed %" PRIu64 ": %s (%" PRIu64 " findings)\n", seed, current.first_violation.c_str(),
               current.violations.load());
  return false;
}

}  // namespace
}  // namespace actor_programs

int main(int argc, char** argv) { return differential::run_seeds(argc, argv, actor_programs::run_program); }
