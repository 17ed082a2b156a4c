// Places (at_place()): a hint that excludes nothing. Whatever an engine makes of it, each task runs once, in
// its order, and locales keep tasks apart as ever. On the chip a place is a tile.
// SPDX-License-Identifier: MIT
#include <cstdint>

#include "tests/conformance/harness.hpp"

namespace {

using namespace rubato;
using conformance::count;
using conformance::linger;

constexpr std::uint32_t kPlaces = 4096;  // more than a chip has cores
std::uint64_t calls = 0;

TYPED_CASE(tasks_of_any_place_run_once_each) {
  calls = 0;
  TaskGroup members;
  for (std::uint32_t i = 0; i < 40; ++i) {
    create<type>([] { count(calls); }, at_place(i * 101));
    create<type>([] { count(calls); }, at_place(~i, {.at = i / 4}));
    create<type>([] { count(calls); }, at_place(i, {.group = &members}));
    create<type>([](std::uint64_t one) { __atomic_fetch_add(&calls, one, __ATOMIC_RELAXED); },
                 at_place(i, {.after = &members}), 1);
  }
  run();
  CHECK(calls == 160);
}

std::uint64_t seen[100];
std::uint64_t filled = 0;

TYPED_CASE(tasks_of_one_place_run_in_the_order_of_their_timestamps) {
  filled = 0;
  for (std::uint64_t i = 100; i-- > 0;) {
    create<type>(
        [](std::uint64_t number) {
          seen[filled] = number;
          linger(20);
          filled = filled + 1;
        },
        at_place(3, {.at = i}), i);
  }
  run();
  CHECK(filled == 100);
  for (std::uint64_t i = 0; i < 100; ++i) CHECK(seen[i] == i);
}

TYPED_CASE(a_locale_excludes_tasks_of_different_places) {
  calls = 0;
  for (std::uint32_t i = 0; i < 100; ++i) {
    create<type>(
        [] {
          const std::uint64_t before = calls;
          linger(20);
          calls = before + 1;
        },
        at_place(i, {.on = 7}));
  }
  run();
  CHECK(calls == 100);
}

#if defined(RUBATO_ENGINE_CHIP)

namespace ins = engine::instruction;

std::uint64_t tile_of[kPlaces];  // plus 1
std::uint64_t strangers = 0;     // tasks that ran on another tile than the first one of their place

void note_tile(std::uint64_t place) {
  const std::uint64_t here = ins::read<ins::kTile>() + 1;
  std::uint64_t first = 0;
  if (!__atomic_compare_exchange_n(&tile_of[place], &first, here, false, __ATOMIC_RELAXED,
                                   __ATOMIC_RELAXED) &&
      first != here)
    count(strangers);
}

TYPED_CASE(a_place_is_the_tile_of_that_core) {
  const auto cores = static_cast<std::uint32_t>(ins::read<ins::kCores>());
  strangers = 0;
  for (std::uint64_t& tile : tile_of) tile = 0;
  for (std::uint32_t i = 0; i < 3 * cores; ++i) {  // counted modulo the cores
    create<type>(note_tile, at_place(i), i % cores);
    create<type>(note_tile, at_place(i, {.at = i % 5}), i % cores);
  }
  run();
  CHECK(strangers == 0);
  const auto tiles = static_cast<std::uint32_t>(tile_of[cores - 1]);  // the last core's
  CHECK(tiles != 0 && cores % tiles == 0);
  for (std::uint32_t i = 0; i < cores && tiles != 0; ++i) CHECK(tile_of[i] == i / (cores / tiles) + 1);
}

std::uint64_t elsewhere = 0;

void check_tile(double tile) {
  if (static_cast<double>(ins::read<ins::kTile>()) != tile) count(elsewhere);
}

TYPED_CASE(callables_of_every_kind_have_places) {
  const std::uint64_t last = ins::read<ins::kCores>() - 1;
  elsewhere = calls = 0;
  create<type>([] { calls = ins::read<ins::kTile>(); }, at_place(static_cast<std::uint32_t>(last)));
  run();
  const std::uint64_t tile = calls;  // the last one
  for (std::uint32_t i = 0; i < 20; ++i) {
    create<type>(check_tile, at_place(static_cast<std::uint32_t>(last)), static_cast<double>(tile));
    create<type>([tile] { check_tile(static_cast<double>(tile)); },
                 at_place(static_cast<std::uint32_t>(last)));
  }
  run();
  CHECK(elsewhere == 0);
}

std::uint64_t inside = 0;
std::uint64_t most_inside = 0;

CASE(tasks_of_one_place_run_at_once) {
  inside = most_inside = 0;
  for (int i = 0; i < 60; ++i) {
    create<nonspec>(
        [] {
          const std::uint64_t now = __atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED);
          linger(500);
          if (now > most_inside) most_inside = now;
          __atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED);
        },
        at_place(0));
  }
  run();
  CHECK(inside == 0);
  CHECK((most_inside > 1) == (ins::read<ins::kCores>() > 1));
}

#endif

}  // namespace
