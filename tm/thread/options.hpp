// The settings, from the environment, read at the process's first transaction.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tm/thread/manager.hpp"

namespace rubato::tm {

struct Options {
  bool undo_always = false;    ///< ITM_DEFAULT_METHOD=serial: serial transactions never run uninstrumented
  bool trusts_values = false;  ///< norec and tml do not quiesce: reads are validated by value (T43)
  bool is_clock_deferred = false;  ///< commits do not move the clock of records (T46)
  bool is_adaptive = false;        ///< the algorithm is chosen at run time (T50)
  std::uint32_t turns = 0;         ///< adaptive:N: the algorithms take turns, after N commits of a thread
  /// Transactions may keep their stores until commit. GCC reads class-type arguments plainly, which sees the
  /// old value then: a user has to ask for it.
  bool may_keep_stores = false;
  const Manager* manager = kUsualManager.manager;
  std::uint32_t manager_parameter = kUsualManager.losses;
};
extern Options options;

/// Reads the environment and sets the regime. Values that are not understood: one sentence and the default.
void choose_algorithm();

}  // namespace rubato::tm
