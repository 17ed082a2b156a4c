// Kernels with tasks: ordered and not, with and without conflicts, locales and capsules.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <queue>
#include <utility>
#include <vector>

#include "rubato/capsule.hpp"
#include "rubato/rubato.hpp"
#include "tests/golden/programs/kernels.hpp"

RUBATO_UNTRACKED static rubato::untracked<std::uint64_t> tickets;

RUBATO_CAPSULE(std::uint64_t, take_ticket, (std::uint64_t count)) {
  const std::uint64_t first = __atomic_fetch_add(&*tickets, count, __ATOMIC_RELAXED);
  rubato::capsule::on_abort([](std::uint64_t n) { __atomic_fetch_sub(&*tickets, n, __ATOMIC_RELAXED); },
                            count);
  return first;
}

namespace {

using rubato::mayspec;
using rubato::nonspec;

constexpr std::uint64_t kFar = ~0ull;

struct alignas(64) Vertex {
  std::uint64_t distance = kFar;
  std::uint32_t neighbour[4] = {};
  std::uint32_t length[4] = {};
  std::uint32_t degree = 0;
};

Vertex* vertices = nullptr;

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

void make_grid(std::uint64_t side) {
  vertices = new (std::align_val_t(64)) Vertex[side * side];
  const auto join = [](std::uint64_t a, std::uint64_t b) {
    const auto length = static_cast<std::uint32_t>(1 + mix(a * 1'000'003 + b) % 100);
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      Vertex& v = vertices[from];
      v.neighbour[v.degree] = static_cast<std::uint32_t>(to);
      v.length[v.degree++] = length;
    }
  };
  for (std::uint64_t y = 0; y < side; ++y) {
    for (std::uint64_t x = 0; x < side; ++x) {
      if (x + 1 < side) join(y * side + x, y * side + x + 1);
      if (y + 1 < side) join(y * side + x, (y + 1) * side + x);
    }
  }
}

void visit(std::uint64_t distance, std::uint64_t id) {
  Vertex& v = vertices[id];
  if (v.distance <= distance) return;
  v.distance = distance;
  for (std::uint32_t i = 0; i < v.degree; ++i) {
    const std::uint64_t then = distance + v.length[i], next = v.neighbour[i];
    rubato::create<mayspec>(visit, {.at = then, .on = next}, then, next);
  }
}

void search_serially() {
  using Entry = std::pair<std::uint64_t, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  queue.push({0, 0});
  while (!queue.empty()) {
    const auto [distance, id] = queue.top();
    queue.pop();
    Vertex& v = vertices[id];
    if (v.distance <= distance) continue;
    v.distance = distance;
    for (std::uint32_t i = 0; i < v.degree; ++i) queue.push({distance + v.length[i], v.neighbour[i]});
  }
}

// ---- votes, bank ----

alignas(64) std::uint64_t total = 0;

void vote(std::uint64_t i) { total = total * 3 + i; }

struct alignas(64) Account {
  std::uint64_t balance = 1000;
};

constexpr std::uint64_t kAccounts = 64;
Account accounts[kAccounts];

void pay_in(std::uint64_t to, std::uint64_t amount) { accounts[to].balance += amount; }

void transfer(std::uint64_t i) {
  const std::uint64_t from = mix(i) % kAccounts, to = mix(i + 77) % kAccounts;
  const std::uint64_t amount = std::min(accounts[from].balance, 1 + mix(i) % 50);
  accounts[from].balance -= amount;
  rubato::create<mayspec>(pay_in, {.at = 2 * i + 1, .on = to}, to, amount);
}

// ---- tree ----

constexpr std::uint64_t kPart = 64;
std::uint64_t* numbers = nullptr;

void node(std::uint64_t index, std::uint64_t below) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < kPart; ++i) sum += numbers[index * kPart + i];
  __atomic_fetch_add(&total, sum, __ATOMIC_RELAXED);
  if (below == 0) return;
  rubato::create<nonspec>(node, {}, 2 * index + 1, below - 1);
  rubato::create<nonspec>(node, {.on = index % 4}, 2 * index + 2, below - 1);
}

// ---- capsules ----

void take(std::uint64_t i) {
  take_ticket(1);
  accounts[i % 8].balance += i;
}

}  // namespace

int golden::paths(std::uint64_t side, bool serial) {
  make_grid(side);
  if (serial) {
    search_serially();
  } else {
    rubato::create<mayspec>(visit, {.at = 0, .on = 0}, 0ull, 0ull);
    rubato::run();
  }
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < side * side; ++i) sum = sum * 31 + vertices[i].distance;
  say("distances", sum);
  return 0;
}

int golden::votes(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) rubato::create<mayspec>(vote, {.at = i}, i);
  rubato::run();
  say("votes", total);
  return 0;
}

int golden::bank(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i)
    rubato::create<mayspec>(transfer, {.at = 2 * i, .on = mix(i) % kAccounts}, i);
  rubato::run();
  std::uint64_t sum = 0, order = 0;
  for (const Account& a : accounts) sum += a.balance, order = order * 31 + a.balance;
  say("sum", sum);
  say("balances", order);
  return sum == kAccounts * 1000 ? 0 : 1;
}

int golden::tree(std::uint64_t depth) {
  const std::uint64_t nodes = (1ull << depth) - 1;
  numbers = static_cast<std::uint64_t*>(std::malloc(nodes * kPart * sizeof(std::uint64_t)));
  for (std::uint64_t i = 0; i < nodes * kPart; ++i) numbers[i] = mix(i);
  rubato::create<nonspec>(node, {}, 0ull, depth - 1);
  rubato::run();
  say("sum", total);
  return 0;
}

int golden::capsules(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) rubato::create<rubato::spec>(take, {.at = i}, i);
  rubato::run();
  say("tickets", *tickets);
  return *tickets == count ? 0 : 1;
}
