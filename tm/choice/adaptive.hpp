// The choice of the algorithm at run time (T50): threads count their commits, and look at the clock now
// and then. A thread that finds a window to be over asks the Chooser and changes the regime.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace rubato::tm {

struct Thread;

/// At the process's first transaction, if no algorithm is asked for.
void start_adapting();
/// For a thread that registers.
void adapt_thread(Thread& thread);
/// In a thread that is outside of transactions: closes the window if it is over.
void adapt(Thread& thread);
/// In the child of a fork.
void reset_adapting_after_fork();
/// For the summary: which algorithms had how many windows. @returns the length of the text.
std::size_t describe_choices(char* text, std::size_t room);

}  // namespace rubato::tm
