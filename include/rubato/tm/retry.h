/* Conditional critical regions (T56): a transaction that is undone, and run again later, unless a
   condition holds. RUBATO_TM_ATOMIC { RUBATO_TM_WAIT_UNLESS(count > 0);
       --count;
     }
   The block is outermost. The thread sleeps until a transaction has committed that wrote something which the
   block has read; on GCC's libitm, and where it has read nothing, it yields, then sleeps for up to a
   millisecond, and looks again. */
/* SPDX-License-Identifier: MIT */
#ifndef RUBATO_TM_RETRY_H
#define RUBATO_TM_RETRY_H

#include "rubato/tm/library.h"

#ifdef __cplusplus
extern "C" {
#endif
/** Used by the macros alone. */
/**@{*/
RUBATO_TM_PURE void tm_retry_wanted(void);
int tm_retry_wait(void);
/**@}*/
#ifdef __cplusplus
}
#endif

/** Before a block: a transaction that RUBATO_TM_WAIT_UNLESS may undo. */
#define RUBATO_TM_ATOMIC                                                            \
  for (int rubato_tm_again = 1; rubato_tm_again; rubato_tm_again = tm_retry_wait()) \
  __transaction_atomic [[outer]]
/** In such a block: undoes it, and runs it again later, unless the condition holds. */
#define RUBATO_TM_WAIT_UNLESS(condition) \
  do {                                   \
    if (!(condition)) {                  \
      tm_retry_wanted();                 \
      __transaction_cancel [[outer]];    \
    }                                    \
  } while (0)

#endif
