// A create() that ends with an exception of the program's leaves nothing behind: no block of task memory, and
// no birth that would hold back reclamation for ever. R1, R7, R8.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>

#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

thread_local int moves_left = 0;      // the move after them throws
std::atomic<std::int64_t> movers{0};  // alive

/// `bytes`: of data, which say whether it fits a task.
template <std::size_t bytes>
struct Mover {
  unsigned char data[bytes] = {};
  Mover() { ++movers; }
  Mover(const Mover&) = delete;
  Mover(Mover&&) {
    if (moves_left-- == 0) throw std::runtime_error("not movable today");
    ++movers;
  }
  ~Mover() { --movers; }
  Mover& operator=(const Mover&) = delete;
  void operator()() const {}
  void operator()(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t) const {}
};

/// The block that the running task's worker would use next for a task.
template <class Block>
void* next_block() {
  auto& heap = engine::current_thread->heap;
  void* const block = heap.allocate<sizeof(Block)>();
  heap.free<sizeof(Block)>(block);
  return block;
}

/// Calls `attempt` until it no longer throws, which moves its callable once more each time; how often it
/// threw.
template <class Attempt>
int count_throws(Attempt attempt) {
  for (int throws = 0;; ++throws) {
    moves_left = throws;
    void* const line = next_block<engine::Task>();
    void* const lines = next_block<engine::ExtendedTask>();
    try {
      attempt();
      return throws;
    } catch (const std::runtime_error&) {
      EXPECT_EQ(next_block<engine::Task>(), line) << "the block is lost, after " << throws << " moves";
      EXPECT_EQ(next_block<engine::ExtendedTask>(), lines)
          << "the block is lost, after " << throws << " moves";
    }
  }
}

struct Object {
  tracked<std::uint64_t> value;
};
std::atomic<std::int64_t> counted{0};
struct Counted {
  Counted() { ++counted; }
  ~Counted() { --counted; }
};

resource<Object> shared;

void tries() {
  const auto expect_throws = [](int throws) { EXPECT_GE(throws, 1); };
  expect_throws(count_throws([] { create<nonspec>(Mover<8>{}, {.on = shared}); }));
  expect_throws(count_throws([] { create<nonspec>(Mover<16>{}, {.on = shared}, 1u, 2u, 3u, 4u); }));
  expect_throws(count_throws([] { create<nonspec>(Mover<100>{}, {.on = shared}); }));
  expect_throws(count_throws([] { create<nonspec>(Mover<8>{}, {.at = timestamp(), .on = shared}); }));
  expect_throws(count_throws([] { on_commit(Mover<8>{}); }));
  expect_throws(count_throws([] { on_commit(Mover<100>{}); }));
}

/// Goes on until the removed object is gone, or far too long.
void wait_for_reclamation(std::uint64_t left) {
  if (counted != 0 && left != 0)
    create<nonspec>(wait_for_reclamation, {.at = timestamp() + 1, .on = 1}, left - 1);
}

TEST(Creation, ThatThrowsLeavesNothingBehind) {
  for (const unsigned workers : {1u, 2u}) {
    use_workers(workers);
    shared = make_resource<Object>({});
    for (const bool has_resource : {false, true}) {
      if (has_resource) {
        create<nonspec>(tries, {.at = 0, .on = shared});
      } else {
        create<nonspec>(tries, {.at = 0});
      }
      create<nonspec>(
          [] {
            remove(make_resource<Counted>({}));
            wait_for_reclamation(100'000);
          },
          {.at = 1});
      create<nonspec>([] { EXPECT_EQ(counted, 0) << "nothing is freed any more"; }, {.at = 1'000'000});
      run();
      EXPECT_EQ(counted, 0);
      EXPECT_EQ(movers, 0);
    }
    remove(shared);
  }
}

}  // namespace
