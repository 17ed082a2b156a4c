// Prefetch code in a task's handle: its value, and that it does not disturb the other fields.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "rubato/rubato.hpp"

namespace rubato {
namespace {

TEST(PrefetchCode, SaysFirstLineAndNumberOfLines) {
  EXPECT_EQ(engine::prefetch_code({}), 0u) << "no hint";
  EXPECT_EQ(engine::prefetch_code({0, 1}), 16u);
  EXPECT_EQ(engine::prefetch_code({64, 64}), 16u + 1);
  EXPECT_EQ(engine::prefetch_code({63, 2}), 32u) << "two lines are touched";
  EXPECT_EQ(engine::prefetch_code({15 * 64, 3 * 64}), 48u + 15);
  EXPECT_EQ(engine::prefetch_code({0, 10 * 64}), 48u) << "the first three of many";
}

TEST(PrefetchCode, LeavesToTheExtensionWhatDoesNotFit) {
  EXPECT_EQ(engine::prefetch_code({16 * 64, 64}), 0u);
  EXPECT_TRUE(engine::is_far({16 * 64, 64}));
  EXPECT_FALSE(engine::is_far({16 * 64 - 1, 64}));
  EXPECT_FALSE(engine::is_far({16 * 64, 0})) << "no hint";
}

struct Big {
  tracked<int> value;
  unsigned char rest[2000];
};

TEST(PrefetchCode, DoesNotPartTasksOfOneResource) {
  const auto object = make_resource<Big>({.isolation = Isolation::exclusive});
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    create<nonspec>([](resource<Big> o) { ++o->value; },
                    {.on = object, .prefetch = {i % 20 * 64, i % 7 * 64}}, object);
  }
  run();
  EXPECT_EQ(object->value, 20'000);
  remove(object);
}

const void* first_pointer(auto function, auto... args) {
  engine::ExtendedTask task{};
  engine::fill_task(&task.task, function, args...);
  return engine::first_pointer_of(&task.task);
}

TEST(FirstPointer, IsTheFirstArgumentThatPointsToData) {
  int a = 0, b = 0;
  EXPECT_EQ(first_pointer([](int*) {}, &a), &a);
  EXPECT_EQ(first_pointer([](int, int*, const int*) {}, 5, &b, &a), &b);
  EXPECT_EQ(first_pointer(
                +[](int, int*) {}, 5, &a),
            &a)
      << "behind the function's address";
  EXPECT_EQ(first_pointer([n = 7](int*) { static_cast<void>(n); }, &a), &a) << "behind what was captured";
  EXPECT_EQ(first_pointer([](int) {}, 5), nullptr);
  EXPECT_EQ(first_pointer([](void (*)()) {}, +[] {}), nullptr) << "a function is no data";
  EXPECT_EQ(first_pointer([](int, int, int, int, int, int*) {}, 1, 2, 3, 4, 5, &a), nullptr)
      << "in the second line";
}

}  // namespace
}  // namespace rubato
