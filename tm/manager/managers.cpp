// SPDX-License-Identifier: MIT
#include <cstring>

#include "tm/thread/manager.hpp"

namespace rubato::tm {

const Manager* find_manager(const char* name, std::uint32_t length) {
  static constexpr const Manager* kAll[] = {&kNone, &kBackoff, &kHourglass, &kSerialize};
  for (const Manager* const manager : kAll) {
    if (std::strlen(manager->name) == length && std::strncmp(manager->name, name, length) == 0)
      return manager;
  }
  return nullptr;
}

}  // namespace rubato::tm
