// Random task programs, one after another in one process: prints a line "SEED DIGEST TASKS" for each. The
// serial and the native engine must print the same lines (run.py compares them). Exit code 1 if a task found
// something wrong, with the seed and what it was.
// SPDX-License-Identifier: MIT
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/differential/state.hpp"

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

/// Whether nothing was found wrong.
bool run_program(std::uint64_t seed) {
  State current;
  state = &current;
  create_roots(seed);
  bool has_thrown = false;
  try {
    run();
  } catch (const TaskError& e) {
    has_thrown = current.throws;
    if (!has_thrown) current.violate(e.what());
  }
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

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s FIRST_SEED COUNT\n", argv[0]);
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 4096);  // whoever waits in vain knows for which seed
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10),
                      count = std::strtoull(argv[2], nullptr, 10);
  bool passed = true;
  for (std::uint64_t seed = first; seed < first + count; ++seed) passed &= differential::run_program(seed);
  return passed ? 0 : 1;
}
