// A program without tasks, which may run beside others and marks a region.
//   plain floats STEPS    floating point and integer divisions: quotients, square roots, products with sums
//   plain memory LINES    loads and stores in strides, some of whose bytes older stores on their way have
//   plain disk THREADS    each reads and writes pages of a file on the simulated disk
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "rubato/markers.h"
#include "tests/golden/programs/say.hpp"

namespace {

using golden::say;

// ---- floats ----

constexpr std::uint64_t kValues = 64;

/// Products with sums are std::fma throughout, so that no compiler rounds another way.
int floats(std::uint64_t steps) {
  double x[kValues], y[kValues];
  for (std::uint64_t i = 0; i < kValues; ++i) x[i] = static_cast<double>(i + 1), y[i] = 1.0 / x[i];
  double sum = 0;
  std::uint64_t hash = steps;
  rubato_region_begin("floats");
  for (std::uint64_t step = 0; step < steps; ++step) {
    for (std::uint64_t i = 0; i < kValues; ++i) {
      y[i] = std::fma(x[i], 0.5, y[i]);
      if (y[i] > 1e6) y[i] = std::sqrt(y[i]);  // a branch on data
      sum += x[(i + step) % kValues] / y[i];
      hash = hash * 31 + (hash / (i + 3)) + hash % (step + 7);
    }
  }
  rubato_region_end("floats");
  std::uint64_t bits;
  std::memcpy(&bits, &sum, sizeof bits);
  say("sum", bits);
  say("hash", hash);
  return 0;
}

// ---- memory ----

struct alignas(64) Line {
  std::uint32_t half[2];
  std::uint64_t next;
  std::uint64_t rest[6];
};

int memory(std::uint64_t lines) {
  auto* const all = static_cast<Line*>(std::aligned_alloc(64, lines * sizeof(Line)));
  if (all == nullptr) return 3;
  for (std::uint64_t i = 0; i < lines; ++i) all[i] = {{1, 2}, (i * 7 + 3) % lines, {}};
  std::uint64_t sum = 0, at = 0;
  rubato_region_begin("memory");
  for (std::uint64_t i = 0; i < lines; ++i) {
    sum += all[i].rest[i % 6];  // a stride, misses that overlap
    at = all[at].next;          // a chain, misses that do not
    all[at].half[i & 1] += 1;   // a store that the next load has a part of
    std::uint64_t both;
    std::memcpy(&both, all[at].half, sizeof both);
    sum = sum * 3 + both;
    all[i].rest[0] = sum;  // a store that the next load has all of
    sum += all[i].rest[0] >> 7;
    if (sum % 5 == 0) __atomic_fetch_add(&all[at].rest[5], 1, __ATOMIC_ACQ_REL);
  }
  rubato_region_end("memory");
  say("sum", sum);
  return 0;
}

// ---- disk ----

constexpr std::uint64_t kPage = 4096, kMost = 16, kTurns = 8;
alignas(kPage) unsigned char pages[kMost][kPage];
int file = -1;

void* work(void* argument) {
  const auto me = reinterpret_cast<std::uintptr_t>(argument);
  std::uint64_t sum = 0;
  for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
    const auto at = static_cast<off_t>((me * kTurns + turn) * kPage);
    std::memset(pages[me], static_cast<int>(me + turn), kPage);
    if (pwrite(file, pages[me], kPage, at) != static_cast<ssize_t>(kPage)) std::_Exit(3);
    if (turn % 4 == 3 && fsync(file) != 0) std::_Exit(3);
    if (pread(file, pages[me], kPage, at) != static_cast<ssize_t>(kPage)) std::_Exit(3);
    sum = sum * 31 + pages[me][turn];
  }
  return reinterpret_cast<void*>(sum);
}

int disk(std::uint64_t count) {
  if (count == 0 || count > kMost) return 2;
  file = open("golden-disk", O_RDWR | O_CREAT | O_EXCL | O_DIRECT, 0600);
  if (file < 0 || unlink("golden-disk") != 0) return 3;
  pthread_t threads[kMost];
  rubato_region_begin("disk");
  for (std::uint64_t i = 0; i < count; ++i)
    if (pthread_create(&threads[i], nullptr, work, reinterpret_cast<void*>(i)) != 0) return 3;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    void* of_thread = nullptr;
    pthread_join(threads[i], &of_thread);
    sum = sum * 31 + reinterpret_cast<std::uintptr_t>(of_thread);
  }
  rubato_region_end("disk");
  say("sum", sum);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const kernel = argc > 1 ? argv[1] : "";
  const std::uint64_t number = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (std::strcmp(kernel, "floats") == 0) return floats(number);
  if (std::strcmp(kernel, "memory") == 0 && number > 7) return memory(number);
  if (std::strcmp(kernel, "disk") == 0) return disk(number);
  return 2;
}
