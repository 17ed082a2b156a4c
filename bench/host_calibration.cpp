// How fast this host is at what a simulator does: a fixed loop of dependent loads, arithmetic and
// unpredictable indirect jumps, on 1 MiB of data. Prints millions of steps a second, so that speeds of two
// hosts, or of one host on two days, can be compared. It uses nothing of the simulator, so that only the host
// changes it.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

std::uint64_t steps(std::vector<std::uint64_t>& data, std::uint64_t count) {
  const std::uint64_t mask = data.size() - 1;
  std::uint64_t state = 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t& cell = data[state & mask];
    switch (cell & 7) {
      case 0:
        state += cell;
        break;
      case 1:
        state ^= cell >> 3;
        break;
      case 2:
        state = state * 5 + cell;
        break;
      case 3:
        cell += state;
        break;
      case 4:
        state -= cell;
        break;
      case 5:
        cell ^= state << 1;
        break;
      case 6:
        state = (state << 7) | (state >> 57);
        break;
      default:
        state |= cell & 0xff;
        break;
    }
    state = state * 6364136223846793005u + 1442695040888963407u;
    state ^= state >> 29;
  }
  return state;
}

}  // namespace

int main() {
  std::vector<std::uint64_t> data(1u << 17);
  for (std::uint64_t i = 0; i < data.size(); ++i) data[i] = i * 0x9e3779b97f4a7c15u;
  std::uint64_t sink = steps(data, 1'000'000);  // warms caches and the clock
  constexpr std::uint64_t kSteps = 30'000'000;
  double best = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    sink += steps(data, kSteps);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(kSteps) / 1e6 / seconds.count());
  }
  std::printf("%.1f\n", best);
  return sink == 0;  // keeps the loop
}
