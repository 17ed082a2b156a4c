// A program's promise about all its transactions, to librubato_itm alone (T38).
// SPDX-License-Identifier: MIT
#include "rubato/tm/library.h"
#include "tm/library/ours.hpp"

namespace {
const auto no_privatization = rubato::tm::library::of_ours<void()>("rubato_tm_no_privatization");
}

extern "C" int tm_makes_nothing_private() {
  if (no_privatization == nullptr) return 0;
  no_privatization();
  return 1;
}
