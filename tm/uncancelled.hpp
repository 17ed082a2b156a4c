// Excludes cancellation: between constructor and destructor a cancelled thread goes on. The library opens
// files, writes and sleeps while it holds its locks, and each of these is a cancellation point
// (pthread_cancel).
// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>

namespace rubato::tm {

class Uncancelled {
 public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace rubato::tm
