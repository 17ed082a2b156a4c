// SPDX-License-Identifier: MIT
#include "cached/discipline/disciplines.hpp"

namespace rubato::cached {

std::span<const Discipline> disciplines() {
  static constexpr Discipline kAll[] = {
      {"locks", make_locks_engine}, {"locks14", make_locks14_engine},
#ifdef RUBATO_CACHED_TM
      {"tm", make_tm_engine},       {"tm-it", make_tm_it_engine},
#endif
#ifdef RUBATO_CACHED_TASKS
      {"tasks", make_tasks_engine},
#endif
  };
  return kAll;
}

}  // namespace rubato::cached
