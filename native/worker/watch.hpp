// A thread that looks now and then whether tasks wait behind one that goes on while a worker is idle, and
// hands them over; and says a word if nothing starts for seconds. R2 and R10. It works while a worker
// does, and sleeps otherwise. With one worker there is none: no other could run anything.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "native/worker/task_age.hpp"
#include "native/worker/watch_pace.hpp"
#include "rubato/engine/native_heap.hpp"

namespace rubato::inline v0::native {

class Shared;
class Worker;

class Watch {
 public:
  explicit Watch(Shared& shared) : shared_(shared) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// While there are several workers. @throws std::system_error, std::bad_alloc
  void start();
  void end();
  /// By a worker: the running task may be long, and has made turns of actors due.
  void note_turns() {
    if (WatchPace::is_unhurried(period())) hurry();
  }
  /// By a worker that has nothing to do: what others hold back can go out.
  void note_waiting() {
    if (WatchPace::is_slow(period())) hurry();
  }
  /// A worker has something to do that had nothing. Ordered by seq_cst: it does not count as idle any more.
  void note_busy() {
    if (is_asleep_.load(std::memory_order_seq_cst)) wake();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void work();
  [[gnu::noinline]] void hurry();
  WatchPace::Duration period() const { return WatchPace::Duration{period_.load(std::memory_order_relaxed)}; }
  std::uint64_t activity_of_actors() const;
  void look();
  bool is_anybody_busy() const;
  bool hand_over(Worker& worker);
  void look_for_standstill(bool is_anybody_idle);
  void say(unsigned seconds);
  bool has_waiting_tasks(std::string& running);
  [[gnu::noinline]] void wake();

  Shared& shared_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool must_end_ = false, is_woken_ = false, is_hurried_ = false;
  std::atomic<bool> is_asleep_{false};
  std::atomic<WatchPace::Duration::rep> period_{0};  // the pace's, for workers

  // Its thread's.
  std::unique_ptr<engine::WorkerHeap> heap_;
  std::vector<TaskAge> ages_;   // by worker
  std::uint64_t activity_ = 0;  // of actors, as of the last look
  WatchPace pace_;
  unsigned idle_looks_ = 0;
  std::uint64_t finished_ = 0;  // by all
  Clock::time_point finished_at_;
  bool has_said_ = false;
};

}  // namespace rubato::inline v0::native
