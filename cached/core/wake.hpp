// How a thread that stores tells the maintainer that there is work for it: by a semaphore, as the publication
// on a transactional memcached has it after its transformation, or by a condition variable, as before (T85).
// SPDX-License-Identifier: MIT
#pragma once

#include <semaphore.h>

#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>

namespace rubato::cached {

/// A `post` that comes before the wait ends it at once.
class Wake {
 public:
  virtual ~Wake() = default;
  /// From any thread.
  virtual void post() = 0;
  /// By the maintainer alone. False: nothing came within that time.
  virtual bool wait_for(std::chrono::microseconds time) = 0;
};

class SemaphoreWake final : public Wake {
 public:
  SemaphoreWake() { sem_init(&semaphore_, 0, 0); }
  ~SemaphoreWake() override { sem_destroy(&semaphore_); }
  SemaphoreWake(const SemaphoreWake&) = delete;
  SemaphoreWake& operator=(const SemaphoreWake&) = delete;

  void post() override { sem_post(&semaphore_); }
  bool wait_for(std::chrono::microseconds time) override {
    timespec until{};
    clock_gettime(CLOCK_MONOTONIC, &until);
    const auto end = std::chrono::nanoseconds(until.tv_nsec) + time;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(end);
    until.tv_sec += seconds.count(), until.tv_nsec = (end - seconds).count();
    return sem_clockwait(&semaphore_, CLOCK_MONOTONIC, &until) == 0;
  }
  /// For a post inside a transaction.
  sem_t& semaphore() { return semaphore_; }

 private:
  sem_t semaphore_;
};

class ConditionWake final : public Wake {
 public:
  void post() override {
    std::lock_guard guard(mutex_);
    is_posted_ = true;
    condition_.notify_one();
  }
  bool wait_for(std::chrono::microseconds time) override {
    std::unique_lock lock(mutex_);
    const bool posted = condition_.wait_for(lock, time, [&] { return is_posted_; });
    is_posted_ = false;
    return posted;
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool is_posted_ = false;
};

}  // namespace rubato::cached
