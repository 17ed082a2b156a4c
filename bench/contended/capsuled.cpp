// capsuled KIND: ordered tasks that all add to one sum, so that most attempts are aborted, and work on
// untracked memory by capsules. Capsules of doomed attempts end nevertheless. For bench/speculation; on each
// engine.
//   counter    500 tasks count themselves, without a lock
//   nested     400 tasks call a capsule that calls another three times, and is promoted at times
//   allocator  1000 tasks take a block from a list under a lock, and give it back when they have committed
//   table      1000 tasks add to an entry of a hash table under a lock
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <utility>

#include "bench/contended/in_order.hpp"
#include "rubato/capsule.hpp"
#include "rubato/rubato.hpp"

namespace {

using contended::run_in_order;
using rubato::create, rubato::mayspec, rubato::nonspec, rubato::tracked;
namespace capsule = rubato::capsule;

constexpr std::uint64_t kPlaces = 4096, kSlots = 64;

struct Blocks {
  capsule::TicketLock lock;
  std::uint64_t first = 0, next[kPlaces] = {};

  void give(std::uint64_t block) {
    lock.lock();
    next[block] = first;
    first = block;
    lock.unlock();
  }
};
struct Table {
  capsule::TicketLock lock;
  std::uint64_t keys[kPlaces] = {}, values[kPlaces] = {};
};

}  // namespace

RUBATO_UNTRACKED static rubato::untracked<std::uint64_t> taken;
RUBATO_UNTRACKED static rubato::untracked<std::uint64_t[kSlots]> slots;
RUBATO_UNTRACKED static rubato::untracked<Blocks> blocks;
RUBATO_UNTRACKED static rubato::untracked<Table> table;

RUBATO_CAPSULE(std::uint64_t, capsuled_take_one, ()) {
  const std::uint64_t first = __atomic_fetch_add(&*taken, 1, __ATOMIC_RELAXED);
  capsule::on_abort([] { __atomic_fetch_sub(&*taken, 1, __ATOMIC_RELAXED); });
  return first;
}

RUBATO_CAPSULE(std::uint64_t, capsuled_add, (std::uint64_t slot, std::uint64_t by)) {
  __atomic_fetch_add(&(*slots)[slot % kSlots], by, __ATOMIC_RELAXED);
  capsule::on_abort([](std::uint64_t s,
                       std::uint64_t n) { __atomic_fetch_sub(&(*slots)[s % kSlots], n, __ATOMIC_RELAXED); },
                    slot, by);
  return by;
}

RUBATO_CAPSULE(std::uint64_t, capsuled_add_three, (std::uint64_t slot)) {
  if (slot % 32 == 31) capsule::promote();
  std::uint64_t sum = 0;
  for (std::uint64_t k = 0; k < 3; ++k) sum += capsuled_add(slot + k, k + 1);
  return sum;
}

RUBATO_CAPSULE(std::uint64_t, capsuled_give_block, (std::uint64_t block)) {
  blocks->give(block % kPlaces);
  return 0;
}

RUBATO_CAPSULE(std::uint64_t, capsuled_take_block, ()) {
  blocks->lock.lock();
  const std::uint64_t block = blocks->first;
  if (block != 0) blocks->first = blocks->next[block];
  blocks->lock.unlock();
  if (block != 0) capsule::on_abort([](std::uint64_t b) { blocks->give(b); }, block);
  return block;
}

RUBATO_CAPSULE(std::uint64_t, capsuled_add_to_table, (std::uint64_t key, std::uint64_t by)) {
  std::uint64_t at = key * 0x9e3779b97f4a7c15 >> 52;
  table->lock.lock();
  while (table->keys[at] != 0 && table->keys[at] != key) at = (at + 1) % kPlaces;
  table->keys[at] = key;
  const std::uint64_t value = table->values[at] += by;
  table->lock.unlock();
  capsule::on_abort(
      [](std::uint64_t place, std::uint64_t n) {
        table->lock.lock();
        table->values[place] -= n;
        table->lock.unlock();
      },
      at, by);
  return value;
}

namespace {

tracked<std::uint64_t> sum, in_vain;
tracked<std::uint64_t> contents[kPlaces];

std::uint64_t sum_below(std::uint64_t count) { return count * (count - 1) / 2; }

bool counter_passes() {
  run_in_order(500, [](std::uint64_t) {
    capsuled_take_one();
    sum += 1;
  });
  return sum == 500 && *taken == 500;
}

bool nested_passes() {
  run_in_order(400, [](std::uint64_t at) { sum += capsuled_add_three(at); });
  std::uint64_t all = 0;
  for (const std::uint64_t slot : *slots) all += slot;
  return sum == 2400 && all == 2400;
}

bool allocator_passes() {
  for (std::uint64_t block = 1; block < kPlaces; ++block)
    blocks->next[block] = block + 1 < kPlaces ? block + 1 : 0;
  blocks->first = 1;
  run_in_order(1000, [](std::uint64_t at) {
    const std::uint64_t block = capsuled_take_block();
    if (block == 0) {
      in_vain += 1;
      return;
    }
    contents[block] = at;
    sum += at;
    create<nonspec>([](std::uint64_t b) { capsuled_give_block(b); }, {}, block);
  });
  std::uint64_t left = 0;
  for (std::uint64_t block = blocks->first; block != 0 && left < kPlaces; block = blocks->next[block]) ++left;
  return sum == sum_below(1000) && in_vain == 0 && left == kPlaces - 1;
}

bool table_passes() {
  run_in_order(1000, [](std::uint64_t at) {
    capsuled_add_to_table(1 + at % kSlots, at);
    sum += 1;
  });
  std::uint64_t all = 0;
  for (const std::uint64_t value : table->values) all += value;
  return sum == 1000 && all == sum_below(1000);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::pair<std::string_view, bool (*)()> kKinds[] = {{"counter", counter_passes},
                                                                {"nested", nested_passes},
                                                                {"allocator", allocator_passes},
                                                                {"table", table_passes}};
  for (const auto& [name, passes] : kKinds) {
    if (argc != 2 || name != argv[1]) continue;
    const bool passed = passes();
    std::printf("check: %s\n", passed ? "passed" : "failed");
    return passed ? 0 : 1;
  }
  return std::fputs("usage: capsuled counter|nested|allocator|table\n", stderr), 2;
}
