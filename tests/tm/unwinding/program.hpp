// Programs of exceptions, destructors and nested transactions, as trees. One function runs them in
// transactions, another one in turn: both are made of run.inc.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

using Word = std::uint64_t;

enum class Do : unsigned char {
  write,
  both,                  ///< first, then second
  count,                 ///< std::uncaught_exceptions() becomes part of the result
  restart,               ///< perhaps from the beginning of the transaction
  raise,                 ///< an exception of one of kKinds types
  raise_again,           ///< the handler's exception, if there is a handler that has not done so
  raise_made,            ///< an exception whose constructor runs first
  attempt,               ///< first; a handler of what it throws runs second
  again,                 ///< the same, and throws it again
  guard,                 ///< a destructor runs second behind first
  nested,                ///< first in a transaction
  cancelled,             ///< the same, which may be cancelled at its end
  cancelled_in_handler,  ///< the same, cancelled by a handler
};
constexpr unsigned kDoings = 13, kKinds = 6;

struct Node {
  Do what;
  unsigned n;
  const Node* first;
  const Node* second;
};

struct Memory {
  Word words[8];
  Word trace;
  Word safe_ends;   ///< of exceptions with a destructor that is transaction_safe
  Word other_ends;  ///< of those with another one, which no transaction reads
};

/// How the transaction is called.
enum class Where : unsigned char {
  alone,
  in_handler,
  leaves_handler,  ///< throws the handler's exception again, in the transaction
  in_destructor,   ///< of an object whose block an exception leaves
  in_rethrow,      ///< the same, if the exception is thrown again
};
constexpr unsigned kPlaces = 5;

/// The result that the caller of the transaction sees.
struct Result {
  Memory memory{};
  Word caught = 0;
  int uncaught = 0;
  bool has_handler = false;  ///< still
  long live = 0;             ///< exceptions that were allocated and not freed
};

namespace transactional {
Result run_program(const Node* node, Where where, bool can_cancel);
}
namespace serial {
Result run_program(const Node* node, Where where, bool can_cancel);
}

/// Without a place where it can be seen, the compiler leaves an allocation out.
extern char* last_allocated;
/// Allocated and not freed in this process.
long live_exceptions();
/// For the next program: how many restarts it has at most, and a seed of where. From then on large exceptions
/// have pages of their own.
void allow_restarts(unsigned most, unsigned seed);
/// In a transaction: perhaps begins it again.
[[gnu::transaction_pure]] void perhaps_restart();
[[gnu::transaction_pure]] unsigned uncaught_exceptions();
/// Whether `throw;` has something to throw. It must not be on its way already: libstdc++ counts its handlers
/// wrong then.
[[gnu::transaction_pure]] bool can_raise_again();
