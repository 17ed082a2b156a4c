// Threads that are no workers and create tasks of a random program: some before run(), more of them while a
// hold keeps run() open. Which tasks follows from the seed. On an engine without such threads all are created
// before run().
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/differential/state.hpp"

namespace differential {

class OutsideThreads {
 public:
  /// Most programs have none. Returns when all that must be created before run() is.
  explicit OutsideThreads(std::uint64_t seed);
  ~OutsideThreads() { join(); }
  OutsideThreads(const OutsideThreads&) = delete;
  OutsideThreads& operator=(const OutsideThreads&) = delete;

  bool any() const { return count_ != 0; }
  /// After run() has returned or thrown.
  void join();

 private:
  class Creator;

  unsigned count_ = 0;
  std::vector<std::thread> threads_;
  std::atomic<unsigned> early_ends_{0};
};

}  // namespace differential
