/* How many transactions a running program has committed, and why some of them ran alone (T64).
   librubato_itm has this function, GCC's libitm has not: declared weak, it is null there. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Sums over all threads since the start of the program. */
typedef struct {
  uint64_t committed;        /**< transactions */
  uint64_t aborted;          /**< attempts that were undone and run again */
  uint64_t start_serial;     /**< declared, or without instrumented code */
  uint64_t in_flight_switch; /**< met something that cannot be undone */
  uint64_t abort_serial;     /**< after too many lost conflicts */
  uint64_t memory_serial;    /**< no memory for the logs */
} rubato_itm_statistics_t;

/** Fills *statistics, whose size is `bytes`. Returns 0, or EINVAL if it is too small. Threads go on counting
 * meanwhile.
 */
__attribute__((weak, visibility("default"))) int rubato_itm_statistics(rubato_itm_statistics_t* statistics,
                                                                       size_t bytes);

#ifdef __cplusplus
}
#endif
