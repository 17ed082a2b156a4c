// Names of waits, from the functions that led to them. The kernel sees a futex only. The names of the C
// library, of libgomp and of Go's runtime tell its kind (mutex, barrier or condition variable) and the user's
// function.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chip/os/thread_profile.hpp"

namespace rubato::chip {

/// A function of a chain of calls.
struct Called {
  Addr address = 0;         ///< inside it: its pc, or of a caller the last byte of the call
  std::string function;     ///< "deposit+0x12", or an address if it has no name
  bool has_source = false;  ///< the program has debugging information on it
};

using SymbolOf = std::function<std::string(Addr)>;
using HasSource = std::function<bool(Addr)>;

/// The functions of `chain`: a pc and return addresses behind it, innermost first. `has_source` may be empty.
std::vector<Called> called_by(std::span<const Addr> chain, const SymbolOf& symbol,
                              const HasSource& has_source);

/// The first of `calls`, innermost first, that is no runtime library's; their number if all are. A function
/// with debugging information is the user's, unless it is of a namespace that only libraries fill. The names
/// of the others decide: whole names, and prefixes that a standard reserves for the library.
std::size_t user_frame(std::span<const Called> calls);

/// "lock", "barrier", "condition", "join", "semaphore", "sleep", "files", "signal", "process", "region" or
/// "futex". For a running thread (Kind::none): the thing that it spins for, or "" if it does not spin.
std::string_view describe_wait(ThreadWait::Kind kind, std::span<const Called> calls);

/// The address of the variable that a thread waits for at the futex `word`: glibc's condition variables,
/// read-write locks and barriers have several words, of which threads wait at one or the other.
Addr object_of_wait(Addr word, std::span<const Called> calls, const SymbolOf& symbol);

}  // namespace rubato::chip
