// A semaphore that is posted anywhere, in a transaction after its commit, and waited for outside of
// transactions (T57).
// SPDX-License-Identifier: MIT
#pragma once

#include <semaphore.h>

#include <cerrno>

#include "rubato/tm/library.h"

namespace rubato::tm {

/// Semaphore between the threads of this process.
class semaphore {
 public:
  /// @param count so many may pass before the first post()
  explicit semaphore(unsigned count = 0) { ::sem_init(&semaphore_, 0, count); }
  semaphore(const semaphore&) = delete;
  semaphore& operator=(const semaphore&) = delete;
  ~semaphore() { ::sem_destroy(&semaphore_); }

  /// Lets one more pass; in a transaction after its commit.
  RUBATO_TM_SAFE void post() { tm_sem_post(&semaphore_); }
  /// Passes, or waits until it may. Outside of transactions.
  void wait() {
    while (::sem_wait(&semaphore_) != 0 && errno == EINTR) {
    }
  }
  /// @returns whether it has passed
  bool try_wait() { return ::sem_trywait(&semaphore_) == 0; }

 private:
  sem_t semaphore_;
};

}  // namespace rubato::tm
