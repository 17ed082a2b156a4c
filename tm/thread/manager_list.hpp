// The list of all managers of conflicts: name, table, and its number of losses if a user names none; 0: it
// takes no number. The tables, the names of settings and the tests are made of it. A new manager is a line
// here, a file in manager/ that defines its table, and its name in python/rubato/tm/managers.py.
// SPDX-License-Identifier: MIT
#pragma once

// clang-format off
#define RUBATO_TM_MANAGERS(X)                                                                          \
  X(none, kNone, 0)             /* tries again at once */                                              \
  X(backoff, kBackoff, 0)       /* waits a random time, twice as long each time */                     \
  X(hourglass, kHourglass, 128) /* after N aborts in a row no transaction begins until it commits */   \
  X(serialize, kSerialize, 100) /* after N aborts in a row runs alone */
// clang-format on
