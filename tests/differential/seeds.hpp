// The main function of random programs: runs the seeds that the command line names, one after another in one
// process.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace differential {

/// `run(seed)`: false if something was found wrong. @returns the exit code.
inline int run_seeds(int argc, char** argv, bool (*run)(std::uint64_t seed)) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s FIRST_SEED COUNT\n", argv[0]);
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 4096);  // a run that hangs has told its seed
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10),
                      count = std::strtoull(argv[2], nullptr, 10);
  bool passed = true;
  for (std::uint64_t seed = first; seed < first + count; ++seed) passed &= run(seed);
  return passed ? 0 : 1;
}

}  // namespace differential
