// What only librubato_itm has, asked for by weak reference (rule T38): one binary runs on GCC's libitm, too.
// SPDX-License-Identifier: MIT
#include "rubato/tm/library.h"

extern "C" [[gnu::weak]] void rubato_tm_no_privatization();

extern "C" int tm_makes_nothing_private() {
  if (&rubato_tm_no_privatization == nullptr) return 0;
  rubato_tm_no_privatization();
  return 1;
}
