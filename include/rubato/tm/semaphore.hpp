// A semaphore that is posted anywhere, in a transaction after its commit, and waited for outside of
// transactions (rule T57).
// SPDX-License-Identifier: MIT
#pragma once

#include <semaphore.h>

#include <cerrno>

#include "rubato/tm/library.h"

namespace rubato::tm {

class semaphore {
 public:
  explicit semaphore(unsigned count = 0) { ::sem_init(&semaphore_, 0, count); }
  semaphore(const semaphore&) = delete;
  semaphore& operator=(const semaphore&) = delete;
  ~semaphore() { ::sem_destroy(&semaphore_); }

  RUBATO_TM_SAFE void post() { tm_sem_post(&semaphore_); }
  void wait() {
    while (::sem_wait(&semaphore_) != 0 && errno == EINTR) {
    }
  }
  bool try_wait() { return ::sem_trywait(&semaphore_) == 0; }

 private:
  sem_t semaphore_;
};

}  // namespace rubato::tm
