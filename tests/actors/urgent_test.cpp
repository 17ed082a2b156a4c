// The urgent lane (A18), on every engine.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "rubato/actors.hpp"

namespace rubato {
namespace {

struct Item {
  int number = 0;
};

struct Sink : behavior<Item> {
  explicit Sink(std::vector<int>& seen) : seen_(seen) {}
  void on(Item item) { seen_.push_back(item.number); }
  std::vector<int>& seen_;
};

TEST(Urgent, MessagesAreAllHandledAndKeepTheirOrderEach) {
  std::vector<int> seen;
  const auto sink = spawn<Sink>({.urgent = true}, seen);
  for (int i = 0; i < 200; ++i) sink.send(Item{i});
  for (int i = 1000; i < 1200; ++i) sink.send(Item{i}, {.priority = Priority::high});
  run();
  ASSERT_EQ(seen.size(), 400u);
  std::vector<int> normal, urgent;
  for (const int n : seen) (n < 1000 ? normal : urgent).push_back(n);
  EXPECT_TRUE(std::is_sorted(normal.begin(), normal.end()));
  EXPECT_TRUE(std::is_sorted(urgent.begin(), urgent.end()));
#if defined(RUBATO_ENGINE_NATIVE)
  if (native::workers() == 1) {  // of several one may take the first before the others have arrived
    EXPECT_EQ(seen.front(), 1000);
    EXPECT_EQ(seen[64], 0);  // one of the others after 64
  }
#endif
  sink.stop();
  run();
}

TEST(Urgent, HasToBeAskedForAtSpawn) {
  std::vector<int> seen;
  const auto sink = spawn<Sink>(seen);
  EXPECT_THROW(sink.send(Item{1}, {.priority = Priority::high}), TaskError);
  sink.stop();
  run();
}

}  // namespace
}  // namespace rubato
