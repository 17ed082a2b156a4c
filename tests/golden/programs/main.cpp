// The program of most golden runs. `tools/golden --build` compiles it; README.md says when.
//   kernels paths SIDE | serial SIDE | votes N | bank N | tree DEPTH | capsules N | threads N | system
// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <cstring>

#include "tests/golden/programs/kernels.hpp"

int main(int argc, char** argv) {
  const char* const kernel = argc > 1 ? argv[1] : "";
  const std::uint64_t number = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  const auto is = [&](const char* name) { return std::strcmp(kernel, name) == 0; };
  if (is("paths")) return golden::paths(number, false);
  if (is("serial")) return golden::paths(number, true);
  if (is("votes")) return golden::votes(number);
  if (is("bank")) return golden::bank(number);
  if (is("tree")) return golden::tree(number);
  if (is("capsules")) return golden::capsules(number);
  if (is("threads")) return golden::threads(number);
  if (is("system")) return golden::system_calls();
  return 2;
}
