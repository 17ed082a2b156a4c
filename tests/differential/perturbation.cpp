// Definitions for base/perturbation.hpp. Places are told apart by the address that perturb() returns
// to. Each program picks, by its seed, few places where few or many calls hold the thread up, some of them
// for one half of the threads only: a delay everywhere would leave the threads in step.
// SPDX-License-Identifier: MIT
#include "base/perturbation.hpp"

#include <sched.h>
#include <time.h>

#include "base/atomics.hpp"
#include "base/rng.hpp"

namespace rubato {
namespace {

std::atomic<std::uint64_t> program{0};
std::atomic<std::uint64_t> threads{0};

struct Thread {
  const std::uint64_t number = threads.fetch_add(1);
  std::uint64_t of_program = ~std::uint64_t{0};
  std::uint64_t state = 0;
};
thread_local Thread self;

std::uint64_t place_of(void* return_address) {
  return reinterpret_cast<std::uintptr_t>(return_address) - reinterpret_cast<std::uintptr_t>(&perturb_by);
}

void hold_up(std::uint64_t random, bool is_heavy) {
  const auto kind = random % 64;
  if (kind == 0 && is_heavy) {
    const timespec moment{.tv_sec = 0, .tv_nsec = 1000};
    nanosleep(&moment, nullptr);
  } else if (kind < 24) {
    sched_yield();
  } else {
    const std::uint64_t turns = (random >> 8) % (std::uint64_t{1} << (random >> 40) % 10);
    for (std::uint64_t i = 0; i < turns; ++i) HeaderAtomics::pause();
  }
}

}  // namespace

void perturb_by(std::uint64_t seed) { program.store(seed, std::memory_order_relaxed); }

[[gnu::noinline]] bool is_threshold_small() {
  const std::uint64_t place = place_of(__builtin_return_address(0));
  return mix64(program.load(std::memory_order_relaxed) * 2 + 1 + (place << 32)) % 3 == 0;
}

[[gnu::noinline]] void perturb() {
  const std::uint64_t place = place_of(__builtin_return_address(0));
  const std::uint64_t seed = program.load(std::memory_order_relaxed);
  if (self.of_program != seed) {
    self.of_program = seed;
    self.state = mix64(seed * 64 + self.number);
  }
  const std::uint64_t here = mix64(seed * 2 + (place << 32));
  const std::uint64_t kind = here % 16;
  if (kind >= 5) return;
  if (kind >= 3 && (here >> 32) % 2 != self.number % 2) return;
  self.state = self.state * 0x5851f42d4c957f2du + 0x14057b7ef767814fu;
  const std::uint64_t random = self.state >> 8;
  const bool is_heavy = kind == 4 || kind == 0;
  if (random % (is_heavy ? 4 : 32) == 0) hold_up(random >> 5, is_heavy);
}

}  // namespace rubato
