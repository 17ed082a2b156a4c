// Tasks that hold a removed object back, as remove() says it; nothing else does for long. R7.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

std::atomic<int> alive{0}, found_alive{0}, found_destroyed{0};
struct Counted {
  Counted() { ++alive; }
  ~Counted() { --alive; }
};
struct Other {
  tracked<std::uint64_t> value;
};

void note() { ++(alive != 0 ? found_alive : found_destroyed); }
constexpr std::uint64_t kLast = 9000;  // timestamp of a task that holds the object back
constexpr std::uint64_t kEnd = 10'000'000;
/// Enough for reclamation to come by, were nothing in its way: each creates the next, an order after the
/// last. Then until it has, however seldom workers get a CPU, or far too long.
void pass_time() {
  if (timestamp() <= kLast || (alive != 0 && timestamp() + 1 < kEnd))
    create<nonspec>(pass_time, {.at = timestamp() + 1, .on = 1});
}
void note_and_create(resource<Other> other) {
  note();
  if (timestamp() < kLast) create<nonspec>(note_and_create, {.at = timestamp() + 3000, .on = other}, other);
}

class Removal : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override {
    use_workers(GetParam());
    found_alive = found_destroyed = 0;
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, Removal, ::testing::Values(1u, 2u, 8u));

TEST_P(Removal, WaitsForPendingTasksWithAnyResourceAndTheirChildren) {
  const auto removed = make_resource<Counted>({});
  const auto other = make_resource<Other>({});
  create<nonspec>([removed] { remove(removed); }, {.at = 0});
  create<nonspec>(pass_time, {.at = 1, .on = 1});
  create<nonspec>(note_and_create, {.at = 3000, .on = other}, other);  // and at 6000 and 9000
  create<nonspec>([] { note(); }, {.at = kEnd});                       // without a resource
  run();
  EXPECT_EQ(found_alive, 3);
  EXPECT_EQ(found_destroyed, 1) << "is not freed before the run ends";
  EXPECT_EQ(alive, 0);
  remove(other);
}

/// Its children are as old as the task that ran at the removal, whether that has a resource itself or not.
TEST_P(Removal, WaitsForChildrenOfTheTaskThatRemoves) {
  const auto other = make_resource<Other>({});
  for (const bool has_resource : {false, true}) {
    const auto removed = make_resource<Counted>({});
    const auto remove_and_create = [removed, other] {
      remove(removed);
      create<nonspec>(note_and_create, {.at = 3000, .on = other}, other);
    };
    if (has_resource) {
      create<nonspec>(remove_and_create, {.at = 0, .on = other});
    } else {
      create<nonspec>(remove_and_create, {.at = 0});
    }
    create<nonspec>(pass_time, {.at = 1, .on = 1});
    run();
    EXPECT_EQ(alive, 0);
  }
  EXPECT_EQ(found_alive, 6);
  EXPECT_EQ(found_destroyed, 0);
  remove(other);
}

}  // namespace
