// The policy of a thread after it lost a conflict (T47). A new manager is a file, and one line in
// managers.cpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::tm {

struct Thread;

struct Manager {
  const char* name;
  std::uint32_t default_parameter;
  /// After the rollback, outside the gate, before the next attempt. `aborts_in_a_row` counts this one.
  void (*after_abort)(Thread&, std::uint32_t parameter);
  bool gives_way = true;  ///< to a record's owner that has won again and again (T48)
};

extern const Manager kNone;     ///< tries again at once
extern const Manager kBackoff;  ///< waits a random time, twice as long each time
extern const Manager
    kHourglass;  ///< after N aborts in a row no transaction begins until this one has committed
extern const Manager kSerialize;  ///< after N aborts in a row runs alone

/// Null if there is none of this name.
const Manager* find_manager(const char* name, std::uint32_t length);

}  // namespace rubato::tm
