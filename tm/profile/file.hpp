// The profiler's memory: a mapped file from the start, so that neither _exit() nor a signal loses anything
// (T63); without a file, memory of the process for the summary at its end.
// SPDX-License-Identifier: MIT
#pragma once

#include "tm/profile/layout.hpp"

namespace rubato::tm::profile {

/// `path`: null for no file. False: there is no memory or the file cannot be written, which was said.
bool open(const char* path, std::uint64_t stacks_every);
bool is_open();
Header& header();
/// The number of one more thread. The caller holds the registry's lock.
Word add_thread();
/// A segment of rows of zeros for a table, which is noted in the file; null if there is no room, which was
/// said.
Segment* add_segment(Kind kind, Word thread, std::size_t pages);
/// For the child of a fork: a file of its own, named after its process.
void reopen_in_child();
/// The place of an address. Takes a lock: for what is seen for the first time.
Word place_of(std::uintptr_t address);
/// Notes the time, and by which ticks are nanoseconds.
void note_time();
inline Word ticks() { return __builtin_ia32_rdtsc(); }

}  // namespace rubato::tm::profile
