// The policy of a thread after it lost a conflict (T47). A new manager is a file, and one line in
// manager_list.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tm/thread/manager_list.hpp"

namespace rubato::tm {

struct Thread;

struct Manager {
  /// After the rollback, outside the gate, before the next attempt. `aborts_in_a_row` counts this one.
  void (*after_abort)(Thread&, std::uint32_t parameter);
  bool gives_way = true;  ///< to a record's owner that has won again and again (T48)
};

#define RUBATO_TM_DECLARE_MANAGER(name, table, losses) extern const Manager table;
RUBATO_TM_MANAGERS(RUBATO_TM_DECLARE_MANAGER)
#undef RUBATO_TM_DECLARE_MANAGER

struct NamedManager {
  const char* name;
  std::uint32_t losses;  ///< the parameter without a number behind the name; 0: it takes none
  const Manager* manager;
};

#define RUBATO_TM_NAMED_MANAGER(name, table, losses) {#name, losses, &table},
inline constexpr NamedManager kManagers[] = {RUBATO_TM_MANAGERS(RUBATO_TM_NAMED_MANAGER)};
#undef RUBATO_TM_NAMED_MANAGER

#define RUBATO_TM_MANAGER_NAME(name, table, losses) name,
enum class ManagerId : std::uint8_t { RUBATO_TM_MANAGERS(RUBATO_TM_MANAGER_NAME) };
#undef RUBATO_TM_MANAGER_NAME
inline constexpr NamedManager kUsualManager = kManagers[static_cast<std::uint8_t>(ManagerId::hourglass)];

}  // namespace rubato::tm
