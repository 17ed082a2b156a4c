// SPDX-License-Identifier: MIT
#include "tm/fault.hpp"

#if defined(RUBATO_TM_FAULTY)
#include <sched.h>

#include <cstdlib>
#include <cstring>

#include "tm/failure.hpp"

namespace rubato::tm {
namespace {

/// The wishes of the environment; none before this library's constructors have run.
struct Wishes {
  Fault fault = Fault::none;
  bool yields = false;
  const char* times = nullptr;
};

Wishes read_wishes() {
  Wishes wishes{Fault::none, std::getenv("RUBATO_TM_YIELDS") == nullptr, std::getenv("RUBATO_TM_TIMES")};
  const char* const value = std::getenv("RUBATO_TM_FAULT");
  if (value != nullptr && !find_fault(kFaultNames, value, wishes.fault))
    fatal("RUBATO_TM_FAULT is '%s', which is no fault", value);
  return wishes;
}

const Wishes wishes = read_wishes();

}  // namespace

void let_others_in() {
  if (!wishes.yields) return;
  static __thread unsigned calls;
  if (++calls % 64 < 16) ::sched_yield();
}

std::uint64_t end_of_era(std::uint64_t first, std::uint64_t last) {
  return wishes.times != nullptr ? first + std::strtoull(wishes.times, nullptr, 10) : last;
}

bool has_fault(Fault fault) { return wishes.fault == fault; }

}  // namespace rubato::tm
#endif
