// The kernels of the golden program, each chosen by its name on the command line. All write to standard
// output with write(2) alone, so that little of the C library is in the program.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tests/golden/programs/say.hpp"

namespace golden {

/// Shortest paths on a grid of side x side vertices from its first: ordered tasks, or with `serial` a
/// priority queue.
int paths(std::uint64_t side, bool serial);
/// `count` tasks of different timestamps add to one counter: every pair conflicts.
int votes(std::uint64_t count);
/// Transfers between 64 accounts, each task on one account's locale and its child on another's.
int bank(std::uint64_t count);
/// A tree of 2^depth - 1 tasks without timestamps, each of which sums a part of an array; four on one locale.
int tree(std::uint64_t depth);
/// Tasks take tickets in a capsule, whose abort handlers give them back.
int capsules(std::uint64_t count);
/// Threads with a mutex, a condition variable, a barrier and atomic operations.
int threads(std::uint64_t count);
/// Files, pipes, mappings, clocks and errors of system calls.
int system_calls();

}  // namespace golden
