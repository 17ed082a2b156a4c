// SPDX-License-Identifier: MIT
#include "native/worker/own_threads.hpp"

#include <utility>

namespace rubato::inline v0::native {
namespace {

constinit thread_local bool is_own_thread = false, is_ending = false;

}  // namespace

void OwnThreads::add(OwnThread& thread) {
  const std::lock_guard lock(mutex_);
  begun_.push_back(&thread);
}
void OwnThreads::remove(const OwnThread& thread) {
  const std::lock_guard lock(mutex_);
  std::erase(begun_, &thread);
}
void OwnThreads::end_all() {
  std::vector<OwnThread*> all;
  {
    const std::lock_guard lock(mutex_);
    all = std::exchange(begun_, {});
  }
  for (OwnThread* const thread : all) thread->join();
}

void OwnThread::begin() {
  if (thread_.joinable()) return;
  must_end_ = false;
  all_.add(*this);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (...) {
    all_.remove(*this);
    throw;
  }
}

void OwnThread::end() {
  all_.remove(*this);
  join();
}
void OwnThread::join() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    must_end_ = true;
    changed_.notify_one();
  }
  thread_.join();
  thread_ = {};
}

void OwnThread::hand_over() {
  const std::lock_guard lock(mutex_);
  has_message_ = true;
  changed_.notify_one();
}

bool OwnThread::is_here() { return is_own_thread; }
bool OwnThread::ends_here() { return is_ending; }

void OwnThread::run() {
  is_own_thread = true;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return has_message_ || must_end_; });
    if (!has_message_) break;
    has_message_ = false;  // first: the next message may come before this call returns
    lock.unlock();
    work_(*this);
    lock.lock();
  }
  is_ending = true;
}

}  // namespace rubato::inline v0::native
