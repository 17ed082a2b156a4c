// Commutative updates without an inverse: ordered speculative tasks report to a set and to a maximum, whose
// results do not depend on the order. Each report is a NONSPEC child without timestamp: it begins once its
// creator has committed, so it is never undone, and a locale keeps it apart from other reports to the same
// place. docs/ordered-patterns.md explains it; on every engine.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "rubato/rubato.hpp"

using rubato::create;

constexpr std::uint64_t kTasks = 1000;
constexpr std::uint64_t kLanes = 50;
constexpr std::uint64_t kBuckets = 32;
constexpr std::uint64_t kSlots = 64;       // of a bucket
constexpr std::uint64_t kBest = kBuckets;  // the locale of the maximum; those below are the buckets'

struct Bucket {
  rubato::tracked<std::uint64_t> size;
  rubato::tracked<std::uint64_t> keys[kSlots];
};
static Bucket buckets[kBuckets];
static rubato::tracked<std::uint64_t> best;
static rubato::tracked<std::uint64_t> state[kLanes];  // of the ordered part

static void insert(std::uint64_t key) {
  Bucket& bucket = buckets[key % kBuckets];
  const std::uint64_t size = bucket.size;
  for (std::uint64_t i = 0; i < size; ++i) {
    if (bucket.keys[i] == key) return;
  }
  bucket.keys[size] = key;
  bucket.size = size + 1;
}

static void raise(std::uint64_t key) {
  if (key > best) best = key;
}

static std::uint64_t next(std::uint64_t x) { return (x * 75 + 74) % 65537 % 1024; }

/// Each task needs what the one before it in its lane wrote. A task that ran too early is undone, and its
/// reports with it.
static void work() {
  rubato::tracked<std::uint64_t>& mine = state[rubato::timestamp() % kLanes];
  const std::uint64_t key = next(mine + rubato::timestamp());
  mine = key;
  create<rubato::nonspec>(insert, {.on = key % kBuckets}, key);
  create<rubato::nonspec>(raise, {.on = kBest}, key);
}

int main() {
  for (std::uint64_t task = 0; task < kTasks; ++task) create<rubato::spec>(work, {.at = task});
  rubato::run();

  std::vector<std::uint64_t> right;
  std::uint64_t lanes[kLanes] = {};
  for (std::uint64_t task = 0; task < kTasks; ++task) {
    std::uint64_t& lane = lanes[task % kLanes];
    lane = next(lane + task);
    right.push_back(lane);
  }
  std::sort(right.begin(), right.end());
  right.erase(std::unique(right.begin(), right.end()), right.end());

  std::vector<std::uint64_t> found;
  for (const Bucket& bucket : buckets) {
    for (std::uint64_t i = 0; i < bucket.size; ++i) found.push_back(bucket.keys[i]);
  }
  std::sort(found.begin(), found.end());
  const bool is_right = found == right && best == right.back();
  std::printf("%zu keys, the largest %llu\ncheck: %s\n", found.size(),
              static_cast<unsigned long long>(best.get()), is_right ? "passed" : "failed");
  return is_right ? 0 : 1;
}
