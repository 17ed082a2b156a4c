// SPDX-License-Identifier: MIT
#include "tm/fault.hpp"

#if defined(RUBATO_TM_FAULTY)
#include <sched.h>

#include <cstdlib>
#include <cstring>

#include "tm/failure.hpp"

namespace rubato::tm {
namespace {

Fault read_fault() {
  const char* const value = std::getenv("RUBATO_TM_FAULT");
  if (value == nullptr) return Fault::none;
  if (Fault fault{}; find_fault(kFaultNames, value, fault)) return fault;
  fatal("RUBATO_TM_FAULT is '%s', which is no fault", value);
}

}  // namespace

void let_others_in() {
  static const bool is_wanted = std::getenv("RUBATO_TM_YIELDS") == nullptr;
  if (!is_wanted) return;
  static __thread unsigned calls;
  if (++calls % 64 < 16) ::sched_yield();
}

std::uint64_t end_of_era(std::uint64_t first, std::uint64_t last) {
  static const char* const value = std::getenv("RUBATO_TM_TIMES");
  return value != nullptr ? first + std::strtoull(value, nullptr, 10) : last;
}

bool has_fault(Fault fault) {
  static const Fault chosen = read_fault();
  return chosen == fault;
}

}  // namespace rubato::tm
#endif
