// Choice of the bug that the engine has: RUBATO_FAULT names it. native/fault.hpp says what each is.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>

#include "native/fault.hpp"

namespace rubato::inline v0::native {
namespace {

Fault from_environment() {
  const char* const given = std::getenv("RUBATO_FAULT");
  if (Fault fault{}; find_fault(kFaultNames, given != nullptr ? given : "none", fault)) return fault;
  std::fprintf(stderr, "RUBATO_FAULT is none of:");
  for (const char* const name : kFaultNames) std::fprintf(stderr, " %s", name);
  std::fprintf(stderr, "\n");
  std::exit(2);
}

const Fault chosen = from_environment();

}  // namespace

bool has_fault(Fault fault) { return fault == chosen; }

}  // namespace rubato::inline v0::native
