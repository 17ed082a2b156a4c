// Threads that are no workers and take part in a random program: they send, ask, spawn, stop and kill while a
// hold keeps run() open. Their actions follow from the seed. On an engine without such threads all of it is
// done before run().
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <thread>
#include <vector>

namespace actor_programs {

/// Number of threads of the program with this seed; most programs have none.
unsigned threads_of(std::uint64_t seed);

class Outside {
 public:
  /// Begins. The cast is there.
  Outside(std::uint64_t seed, unsigned threads);
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  std::vector<std::jthread> threads_;
};

}  // namespace actor_programs
