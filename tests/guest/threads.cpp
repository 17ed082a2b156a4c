// The standard library's threads: mutexes, condition variables, atomics, async, thread-local storage.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <latch>
#include <mutex>
#include <queue>
#include <shared_mutex>
#include <thread>
#include <vector>

static thread_local int local = 5;

int main() {
  constexpr int kThreads = 9;
  std::atomic<long> atomic_sum{0};
  long sum = 0;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20000; ++i) {
        atomic_sum += i;
        if (i % 10 == 0) {
          std::lock_guard lock(mutex);
          sum += t;
        }
      }
      local += t;
      if (local != 5 + t) std::puts("thread-local storage is shared");
    });
  for (auto& thread : threads) thread.join();
  std::printf("%ld %ld %d\n", atomic_sum.load(), sum, local);

  std::queue<int> queue;
  std::condition_variable ready;
  bool done = false;
  long consumed = 0;
  std::thread consumer([&] {
    std::unique_lock lock(mutex);
    while (true) {
      ready.wait(lock, [&] { return done || !queue.empty(); });
      if (queue.empty()) return;
      consumed += queue.front();
      queue.pop();
    }
  });
  for (int i = 0; i < 1000; ++i) {
    std::lock_guard lock(mutex);
    queue.push(i);
    ready.notify_one();
  }
  {
    std::lock_guard lock(mutex);
    done = true;
  }
  ready.notify_all();
  consumer.join();
  std::printf("%ld\n", consumed);

  auto answer = std::async(std::launch::async, [] { return 42; });
  std::printf("%d\n", answer.get());
  auto failing = std::async(std::launch::async, []() -> int { throw 7; });
  try {
    failing.get();
  } catch (int n) {
    std::printf("caught %d\n", n);
  }
  std::latch latch(3);
  std::shared_mutex shared;
  int value = 0;
  std::vector<std::jthread> more;
  for (int t = 0; t < 3; ++t)
    more.emplace_back([&] {
      {
        std::unique_lock lock(shared);
        ++value;
      }
      latch.arrive_and_wait();
      std::shared_lock lock(shared);
      if (value != 3) std::puts("latch broken");
    });
  more.clear();
  std::timed_mutex timed;
  timed.lock();
  std::thread([&] { std::printf("%d\n", timed.try_lock_for(std::chrono::milliseconds(20))); }).join();
  timed.unlock();
  return 0;
}
