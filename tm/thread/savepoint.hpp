// The savepoint of a nested transaction that can be cancelled (T21): the lengths of all logs and lists
// at its begin.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "tm/log/exceptions.hpp"

namespace rubato::tm {

struct Savepoint {
  std::uint32_t nesting;     ///< the depth of the transaction that it begins
  std::uint32_t properties;  ///< of the enclosing transaction
  std::uint64_t id;          ///< of the enclosing transaction; 0: not asked for
  bool is_final;             ///< the transaction became irrevocable inside: it cannot be cancelled any more
  std::size_t undo, writes, allocations, commit_actions, undo_actions;
  Exceptions::Mark exceptions;
};

}  // namespace rubato::tm
