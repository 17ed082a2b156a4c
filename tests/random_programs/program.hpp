// A random task program (C19): tasks of every type, with and without timestamps and locales, that read and
// write a few lines in every way the instruction set has. They go wrong only on values that no serial
// execution sees.
//
//   unique   every timestamp is different (but of leaves that only add to what their locale owns): the final
//            memory is the same on every engine
//   dense    timestamps are equal or missing: NONSPEC and MAYSPEC tasks touch what their locale owns, SPEC
//            tasks that, if they have a locale, and what only SPEC tasks touch. Checked by replay
//
// What a task does follows from its key and from what it loads.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tests/random_programs/random.hpp"

namespace random_tasks {

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t tasks = 300;
  std::uint64_t lines = 6;    ///< of shared memory: few, so that tasks conflict
  std::uint64_t locales = 5;  ///< at most kMaxLocales
  bool unique = true;
  bool system_calls = true;
  bool disasters = true;
  bool shared_locales = true;  ///< dense: SPEC tasks, too, touch what their locale owns
  bool heap = false;           ///< tasks allocate and free
  bool waits = false;          ///< system calls wait
  bool capsules = false;       ///< tasks use the ledger
  bool pauses = false;         ///< capsules of the ledger wait
};
extern Options options;

inline constexpr std::uint64_t kMaxLines = 64, kMaxLocales = 16, kWordsPerLocale = 4, kPairs = 8, kBlocks = 8;
inline constexpr std::uint64_t kSharedAccounts = 4, kAccounts = kSharedAccounts + kMaxLocales;

/// Two words that are equal whenever a task begins and when it ends. They lie in different lines.
struct Pairs {
  alignas(64) std::uint64_t first[kPairs];
  alignas(64) std::uint64_t second[kPairs];
};

/// From the heap. Only its contents are the same on every engine.
struct Block {
  std::uint64_t words;  ///< which follow
  std::uint64_t& word(std::uint64_t i) { return reinterpret_cast<std::uint64_t*>(this + 1)[i]; }
};

/// Everything tasks share. The digest is taken of all before `blocks`, and of what those hold.
struct Memory {
  alignas(64) std::uint8_t bytes[kMaxLines * 64];                     ///< of tasks that may touch anything
  Pairs pairs;                                                        ///< of the same
  alignas(64) std::uint64_t owned[kWordsPerLocale][kMaxLocales];      ///< locales share lines, not words
  std::uint64_t owned_first[kMaxLocales], owned_second[kMaxLocales];  ///< pairs, one a locale
  alignas(64) std::uint64_t entered[kSharedAccounts], split[kSharedAccounts];  ///< as the ledger
  alignas(64) std::uint64_t owned_entered[kMaxLocales], owned_split[kMaxLocales];
  Block* blocks[kBlocks];               ///< of tasks that may touch anything
  Block* owned_blocks[kMaxLocales];     ///< one a locale
  alignas(64) std::uint64_t stacks[8];  ///< where tasks' stacks are: for tasks gone astray
};
extern Memory memory;

/// The part of memory that a task may touch.
struct Reach {
  bool everything = false;  ///< bytes and pairs
  bool has_locale = false;  ///< what `locale` owns
  std::uint64_t locale = 0;
};

/// Makes a random access, or a few; folds what was loaded into `seen`.
void access(Random& random, const Reach& reach, std::uint64_t& seen);
/// Updates a pair, with another access in between.
void update_pair(Random& random, const Reach& reach, std::uint64_t& seen);
/// Whether a pair holds two equal words, as in every serial execution.
bool is_pair_whole(Random& random, const Reach& reach, std::uint64_t& seen);

/// Behavior of a task that saw what it cannot have seen: anything.
void disaster(std::uint64_t key);
/// Leaves where this task's stack is, for disasters.
void remember_stack();

/// Exchanges a block for a new one, or grows it; its contents are folded into `seen`.
void exchange_block(Random& random, const Reach& reach, std::uint64_t& seen);

/// Calls a capsule of the ledger, or a few.
void use_ledger(Random& random, const Reach& reach, std::uint64_t& seen);
/// Capsule calls of a task that saw what it cannot have seen.
void wild_capsules(std::uint64_t key);
/// Says what is wrong. While no task runs.
bool is_ledger_right();

/// A system call that waits for a while.
void wait(Random& random);
/// A system call, whose effect on memory is the same on every engine.
void system_call(Random& random, const Reach& reach, std::uint64_t& seen);
void open_files();

void create_roots();

}  // namespace random_tasks
