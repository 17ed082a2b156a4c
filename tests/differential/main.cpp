// Random task programs, one after another in one process: prints a line "SEED DIGEST TASKS" for each. The
// serial and the native engine must print the same lines (run.py compares them). Exit code 1 if a task found
// something wrong, with the seed and what it was.
// SPDX-License-Identifier: MIT
#include <cinttypes>
#include <cstdio>
#include <string_view>
#include <utility>

#include "tests/differential/outside.hpp"
#include "tests/differential/seeds.hpp"
#include "tests/differential/state.hpp"

#if defined(RUBATO_PERTURBED)
#include "base/perturbation.hpp"
#endif

namespace differential {
namespace {

constexpr std::uint64_t kThrown = 0x7470;

std::uint64_t digest_of(const State& s) {
  std::uint64_t digest = mix64(s.sum) ^ mix64(s.tasks + 1) ^ mix64(s.sequence + 2) ^ mix64(s.made + 3);
  const auto fold = [&](const Cell& cell) {
    for (const std::uint64_t word : {cell.first.get(), cell.second.get(), cell.ordered.get()}) {
      digest = mix64(digest ^ word);
    }
  };
  for (const Cell& cell : s.locales) fold(cell);
  for (const auto& handle : s.resources) fold(*handle);
  return digest;
}

#if defined(RUBATO_PERTURBED)
/// Options change rarely: the workers' threads start anew with them.
constexpr std::uint64_t kSameOptions = 32;

/// As many workers as before; all else as the seed says.
void configure_by(std::uint64_t seed, const native::Options& begin) {
  Rng random(mix64(seed / kSameOptions));
  native::Options options = begin;
  if (random.below(2) == 0) {  // but not `none`, which keeps nothing apart
    constexpr auto kFirst = static_cast<std::uint64_t>(native::Synchronization::latch);
    options.synchronization = static_cast<native::Synchronization>(kFirst + random.below(5));
  }
  options.reclamation = static_cast<native::Reclamation>(random.below(3));
  options.prefetch.kind = static_cast<native::PrefetchMode::Kind>(random.below(3));
  constexpr unsigned kDistances[] = {1, 4, 20, 63};
  options.prefetch.distance = kDistances[random.below(4)];
  native::configure(options);
}

void prepare(std::uint64_t seed) {
  static const native::Options at_start = native::options();
  static std::uint64_t configured = ~std::uint64_t{0};
  if (std::exchange(configured, seed / kSameOptions) != seed / kSameOptions) configure_by(seed, at_start);
  perturb_by(seed);
}
#else
void prepare(std::uint64_t /*seed*/) {}
#endif

/// Runs the tasks that threads outside created after a task had thrown: they wait for the next run.
void run_what_came_late() {
  state->throws = false;
  try {
    run();
  } catch (const TaskError& e) {
    state->violate(e.what());
  }
}

/// Whether nothing was found wrong.
bool run_program(std::uint64_t seed) {
  State current;
  state = &current;
  prepare(seed);
  create_roots(seed);
  OutsideThreads outside(seed);
  bool has_thrown = false;
  try {
    run();
  } catch (const TaskError& e) {
    has_thrown = current.throws;
    if (!has_thrown) current.violate(e.what());
  }
  outside.join();
  if (has_thrown && outside.any()) run_what_came_late();
  // A task that throws ends the program somewhere: all that is the same then is that it did.
  const std::uint64_t digest = has_thrown ? kThrown : digest_of(current);
  const std::uint64_t tasks = has_thrown ? 0 : current.tasks.load();
  for (const auto& handle : current.resources) remove(handle);
  for (const auto& handle : current.temporaries) remove(handle);
  if (current.destroyed != current.made) current.violate("objects that were removed are not all destroyed");
  std::printf("%" PRIu64 " %016" PRIx64 " %" PRIu64 "\n", seed, digest, tasks);
  if (current.violations == 0) return true;
  std::fflush(stdout);
  std::fprintf(stderr, "seed %" PRIu64 ": %s (%" PRIu64 " findings)\n", seed, current.first_violation.c_str(),
               current.violations);
  return false;
}

}  // namespace
}  // namespace differential

int main(int argc, char** argv) { return differential::run_seeds(argc, argv, differential::run_program); }
