// Runs a function in a transaction that commits or is cancelled. `__transaction_cancel` stands in functions
// that are no templates: GCC 12 drops it from templates without a word. Also counts what operator new has
// given out.
// SPDX-License-Identifier: MIT
#pragma once

namespace containers {

/// How many blocks operator new has given out and not got back, in all threads. The libraries for
/// transactions call operator new, too.
long blocks_in_use();

typedef void (*Action)(void*)
    __attribute__((transaction_safe));  // NOLINT: GCC takes no attribute in an alias
void run_committed(Action action, void* argument);
void run_cancelled(Action action, void* argument);
/// In a nested transaction that is cancelled, then in the outer one.
void run_nested(Action action, void* argument);

template <class F>
__attribute__((transaction_safe)) void call(void* f) {
  (*static_cast<F*>(f))();
}
template <class F>
void committed(F f) {
  run_committed(&call<F>, &f);
}
template <class F>
void cancelled(F f) {
  run_cancelled(&call<F>, &f);
}
template <class F>
void nested(F f) {
  run_nested(&call<F>, &f);
}

}  // namespace containers
