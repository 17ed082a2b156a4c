// SPDX-License-Identifier: MIT
#include "cached/discipline/disciplines.hpp"

namespace rubato::cached {

std::string discipline_names(std::string_view between) {
  std::string names;
  for (const Discipline& one : disciplines()) names.append(names.empty() ? "" : between).append(one.name);
  return names;
}

const Discipline* find_discipline(std::string_view name) {
  for (const Discipline& one : disciplines())
    if (one.name == name) return &one;
  return nullptr;
}

}  // namespace rubato::cached
