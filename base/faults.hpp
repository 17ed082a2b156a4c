// Faults that tests put into a system on purpose: an enumeration and the names of its members, made of one
// list.
//
//   #define RUBATO_X_FAULTS(X) X(first) /* what goes wrong */ X(second) /* ... */
//   RUBATO_DEFINE_FAULTS(Fault, kFaultNames, RUBATO_X_FAULTS)
//
// `none` comes before the list. Builds without faults ask has_fault(), which is constexpr and false there.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#define RUBATO_FAULT_MEMBER(name) name,
#define RUBATO_FAULT_TEXT(name) #name,
#define RUBATO_DEFINE_FAULTS(Type, kNames, LIST)                      \
  enum class Type : std::uint8_t { none, LIST(RUBATO_FAULT_MEMBER) }; \
  inline constexpr const char* kNames[] = {"none", LIST(RUBATO_FAULT_TEXT)};

namespace rubato {

/// The fault that `name` names, in `fault`. False if there is none of that name.
template <class Fault, std::size_t n>
bool find_fault(const char* const (&names)[n], const char* name, Fault& fault) {
  for (std::size_t i = 0; i < n; ++i) {
    if (std::strcmp(names[i], name) != 0) continue;
    fault = static_cast<Fault>(i);
    return true;
  }
  return false;
}

}  // namespace rubato
