// The answer of a call as a line that is the same here and on the host: the name of the error, or the result.
// Before it the program defines _GNU_SOURCE.
// SPDX-License-Identifier: MIT
#pragma once

#include <errno.h>
#include <stdio.h>
#include <string.h>

/// Prints the result of a call, or why it failed. Written at once: a child that fork() makes later has
/// nothing of it to write again.
static inline long say(const char* what, long result) {
  if (result < 0)
    printf("%s: %s\n", what, strerrorname_np(errno));
  else
    printf("%s: %ld\n", what, result);
  fflush(stdout);
  return result;
}
