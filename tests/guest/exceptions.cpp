// Exceptions across frames, with destructors, rethrown, and from a thread of the standard library's making.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

struct Tracer {
  explicit Tracer(int n) : number(n) {}
  ~Tracer() { std::printf("destroyed %d\n", number); }
  int number;
};

static int descend(int depth) {
  Tracer tracer(depth);
  if (depth == 3) throw std::runtime_error("bottom at " + std::to_string(depth));
  return descend(depth + 1) + 1;
}

int main() {
  try {
    descend(0);
  } catch (const std::exception& error) {
    std::printf("caught %s\n", error.what());
  }
  try {
    try {
      std::vector<int>().at(7);
    } catch (...) {
      std::puts("rethrown");
      throw;
    }
  } catch (const std::out_of_range&) {
    std::puts("out of range");
  }
  return 3;
}
