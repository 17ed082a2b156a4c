// The list of all algorithms, in the order of the regime: name, table. The enumeration, the tables with and
// without a profile, the names of settings and the tests are made of it. A new algorithm is a line here, a
// file in algorithm/ that defines its table, and its name in python/rubato/tm/methods.py.
// SPDX-License-Identifier: MIT
#pragma once

// clang-format off
#define RUBATO_TM_ALGORITHMS(X)                             \
  X(serial, kSerial) /* by the serial lock, undo log */     \
  X(eager, kEager)   /* in place, under records */          \
  X(lazy, kLazy)     /* at commit, under records */         \
  X(norec, kNorec)   /* at commit, one sequence lock */     \
  X(rtm, kRtm)       /* in hardware, else as norec */  \
  X(tml, kTml)       /* in place, one sequence lock */
// clang-format on
