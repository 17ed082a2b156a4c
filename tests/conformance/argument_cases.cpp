// Parts of a task (M1): functions, callables, arguments of every kind. tracked<T> (M4).
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "rubato/capsule.hpp"
#include "tests/conformance/harness.hpp"

namespace {

using namespace rubato;
using conformance::count;

std::uint64_t correct = 0;

void none() { count(correct); }
void five(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d, std::uint64_t e) {
  if (a == 1 && b == 2 && c == 3 && d == 4 && e == std::numeric_limits<std::uint64_t>::max()) count(correct);
}
void small_integers(std::int8_t a, std::uint8_t b, std::int16_t c, std::uint16_t d, bool e) {
  if (a == -128 && b == 255 && c == -32768 && d == 65535 && e) count(correct);
}
void words(std::int32_t a, std::uint32_t b, std::int64_t c, char d) {
  if (a == -2147483647 - 1 && b == 4294967295u && c == -5 && d == 'x') count(correct);
}
void floats(float a, double b, std::uint32_t c, float d) {
  if (a == 0.25f && b == -1e300 && c == 7 && d == -0.5f) count(correct);
}
void five_floats(float a, double b, std::uint32_t c, float d, double e) {
  if (a == 0.25f && b == -1e300 && c == 7 && d == -0.5f && e == 3.5) count(correct);
}
enum class Color : std::uint16_t { red = 3, blue = 60000 };
struct Pair {
  std::int32_t first;
  float second;
};
struct Byte {
  std::uint8_t value;
};
void types(Color a, Pair b, Byte c, const std::uint64_t* d) {
  if (a == Color::blue && b.first == -9 && b.second == 1.5f && c.value == 77 && *d == 123) count(correct);
}
void quiet(std::uint64_t n) noexcept {
  if (n == 5) count(correct);
}
std::uint64_t returns(std::uint64_t n) {
  if (n == 6) count(correct);
  return n;
}

struct Functor {
  void operator()(int n) const {
    if (n == -4) count(correct);
  }
};

TYPED_CASE(arguments_of_every_kind_arrive) {
  static const std::uint64_t pointed = 123;
  correct = 0;
  create<type>(none, {});
  create<type>(five, {}, 1, 2, 3, 4, std::numeric_limits<std::uint64_t>::max());
  create<type>(small_integers, {.at = 1}, std::int8_t{-128}, std::uint8_t{255}, std::int16_t{-32768},
               std::uint16_t{65535}, true);
  create<type>(words, {.on = 1}, -2147483647 - 1, 4294967295u, -5, 'x');
  create<type>(floats, {.at = 1, .on = 1}, 0.25f, -1e300, 7u, -0.5f);
  create<type>(five_floats, {.at = 1, .on = 1}, 0.25f, -1e300, 7u, -0.5f, 3.5);
  create<type>(types, {}, Color::blue, Pair{-9, 1.5f}, Byte{77}, &pointed);
  create<type>(quiet, {}, 5);
  create<type>(returns, {}, 6);
  create<type>(Functor{}, {}, -4);
  create<type>(
      [](double a, std::uint8_t b, Pair c, float d, std::int64_t e) {
        if (a == 2.5 && b == 9 && c.second == 0.5f && d == 1.5f && e == -1) count(correct);
      },
      {}, 2.5, std::uint8_t{9}, Pair{1, 0.5f}, 1.5f, std::int64_t{-1});
  run();
  CHECK(correct == 11);
}

struct Forty {
  std::uint64_t words[5];
};

TYPED_CASE(callables_carry_their_state) {
  correct = 0;
  const Forty forty{{1, 2, 3, 4, std::numeric_limits<std::uint64_t>::max()}};
  const Pair pair{-9, 1.5f};
  const std::uint8_t byte = 200;
  const double half = 0.5;
  create<type>(
      [forty] { five(forty.words[0], forty.words[1], forty.words[2], forty.words[3], forty.words[4]); }, {});
  create<type>(
      [byte] {
        if (byte == 200) count(correct);
      },
      {.at = 1});
  create<type>(
      [byte, pair, half](float a, std::int8_t b) {
        if (byte == 200 && pair.first == -9 && pair.second == 1.5f && half == 0.5 && a == 0.25f && b == -3)
          count(correct);
      },
      {.at = 2, .on = 1}, 0.25f, std::int8_t{-3});
  create<type>(
      [n = 3]() mutable {
        if (++n == 4) count(correct);
      },
      {.on = 7});
  create<type>(
      [half] {
        on_commit(
            [half, n = 2](int m) {
              if (half * n == m) count(correct);
            },
            1);
      },
      {});
  run();
  CHECK(correct == 5);
}

CASE(callables_with_state_wait_for_groups) {
  static std::uint64_t order;
  order = 0;
  TaskGroup first;
  for (std::uint64_t i = 1; i <= 4; ++i) create<nonspec>([i] { order += i; }, {.on = 1, .group = &first});
  create<nonspec>(
      [a = std::uint64_t{5}, b = std::uint64_t{7}](std::uint64_t c) { order = order * a + b * c; },
      {.on = 1, .after = &first}, 2);
  run();
  CHECK(order == 10 * 5 + 14);
}

TYPED_CASE(serialize_ends_speculation) {
  static tracked<std::uint64_t> sum;
  sum = 0;
  correct = 0;
  serialize();  // outside tasks it does nothing
  for (std::uint64_t i = 0; i < 20; ++i) {
    create<type>(
        [] {
          sum += 1;
          serialize();
          if (!capsule::is_speculative()) count(correct);
        },
        {.at = i});
  }
  run();
  CHECK(sum == 20u);
  CHECK(correct == 20);
}

CASE(arguments_convert_to_the_functions_parameters) {
  correct = 0;
  create<nonspec>(words, {}, std::int64_t{-2147483647 - 1}, 4294967295u, -5, 120);  // 120 is 'x'
  create<nonspec>(floats, {}, 0.25, -1e300, 7, -0.5);
  run();
  CHECK(correct == 2);
}

void (*const functions[])(std::uint64_t) = {[](std::uint64_t n) { correct += n; },
                                            [](std::uint64_t n) { correct += 100 * n; }};

CASE(functions_may_be_known_only_at_run_time) {
  correct = 0;
  for (std::uint64_t i = 0; i < 10; ++i) create<nonspec>(functions[i % 2], {.at = i}, i);
  run();
  CHECK(correct == 20 + 2500);
}

CASE(tasks_may_use_the_language) {
  static std::uint64_t caught;
  caught = 0;
  correct = 0;
  for (int i = 0; i < 10; ++i) {
    create<nonspec>(
        [](int n) {
          const auto data = std::make_unique<std::vector<int>>(static_cast<std::size_t>(n) + 1, n);
          try {
            if (data->at(static_cast<std::size_t>(n)) == n) count(correct);
            static_cast<void>(data->at(static_cast<std::size_t>(n) + 1));
          } catch (const std::out_of_range&) {
            count(caught);
          }
        },
        {.at = i}, i);
  }
  run();
  CHECK(correct == 10);
  CHECK(caught == 10);
}

// ---- Timestamps and locales ----

CASE(annotations_take_any_ordinary_integer) {
  correct = 0;
  const auto task = [](std::uint64_t expected) {
    if (timestamp() == expected) count(correct);
  };
  create<nonspec>(task, {.at = std::uint8_t{200}, .on = std::int8_t{1}}, 200);
  create<nonspec>(task, {.at = 3, .on = 4u}, 3);
  create<nonspec>(task, {.at = 3L, .on = 4UL}, 3);
  create<nonspec>(task, {.at = 5LL, .on = std::uint16_t{4}}, 5);
  create<nonspec>(task, {.at = Timestamp(6), .on = Locale(4)}, 6);
  create<nonspec>(
      task,
      {.at = 7, .priority = Priority::high, .prefetch = {.offset = 64, .bytes = 128}, .core = 0, .numa = 0},
      7);
  run();
  CHECK(correct == 6);
}

// ---- tracked<T> ----

CASE(tracked_reads_and_writes_like_its_value) {
  tracked<int> i = 5;
  i += 3;
  i -= 1;
  i *= 4;
  i /= 2;
  CHECK(i == 14);
  CHECK(i++ == 14);
  CHECK(++i == 16);
  CHECK(i-- == 16);
  CHECK(--i == 14);
  i %= 10;
  i |= 3;
  i &= 6;
  i ^= 1;
  CHECK(i == 7);
  tracked<int> copy = i;
  copy = copy + 1;
  CHECK(i == 7 && copy == 8);
  i = copy;
  CHECK(i == 8);
  tracked<double> d = 1.5;
  d += 1;
  CHECK(d == 2.5);
  tracked<bool> b;
  CHECK(!b);
  b = true;
  CHECK(b);
  tracked<Color> color = Color::red;
  CHECK(color == Color::red);
  tracked<Timestamp> t = Timestamp(9);
  CHECK(t.get() == 9u);
  struct Three {
    std::uint8_t bytes[3];
    bool operator==(const Three&) const = default;
  };
  tracked<Three> three = Three{{1, 2, 3}};
  CHECK(three == (Three{{1, 2, 3}}));
  static const Pair pair{1, 2.0f};
  tracked<const Pair*> pointer = &pair;
  CHECK(pointer->second == 2.0f);
  static_assert(sizeof(tracked<std::uint8_t>) == 1 && sizeof(tracked<float>) == 4 &&
                sizeof(tracked<Three>) == 4 && sizeof(tracked<std::uint64_t>) == 8 &&
                alignof(tracked<Pair>) == 8);
}

#if !defined(__riscv)
CASE(host_engines_take_any_callable) {
  std::uint64_t sum = 0;
  auto owned = std::make_unique<int>(5);
  create<nonspec>([&sum, owned = std::move(owned)](int n) { sum += static_cast<std::uint64_t>(*owned + n); },
                  {}, 6);
  run();
  CHECK(sum == 11);
}
#endif

}  // namespace
