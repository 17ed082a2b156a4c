// Many threads, and what the C++ library builds on them: thread-local objects, exceptions that cross threads,
// futures, atomic waits, barriers, semaphores, stop tokens.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <future>
#include <mutex>
#include <numeric>
#include <semaphore>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

static std::atomic<int> constructed{0}, destroyed{0};
struct Local {
  Local() { ++constructed; }
  ~Local() { ++destroyed; }
  std::string text = "local";
};
static thread_local Local local;
static thread_local int plain = 7;

static int thrower(int depth) {
  const std::string unwound(static_cast<std::size_t>(depth) + 20, 'x');
  if (depth == 0) throw std::runtime_error("from " + std::to_string(plain));
  return thrower(depth - 1) + static_cast<int>(unwound.size());
}

int main() {
  constexpr int kMany = 200;
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(kMany);
  std::atomic<long> sum{0};
  for (int t = 0; t < kMany; ++t)
    threads.emplace_back([&, t] {
      local.text += std::to_string(t);
      plain += t;
      sum += plain;
      try {
        thrower(t % 10);
      } catch (...) {
        errors[static_cast<std::size_t>(t)] = std::current_exception();
      }
    });
  for (auto& thread : threads) thread.join();
  int right = 0;
  for (int t = 0; t < kMany; ++t) {
    try {
      std::rethrow_exception(errors[static_cast<std::size_t>(t)]);
    } catch (const std::runtime_error& error) {
      right += error.what() == "from " + std::to_string(t + 7);
    }
  }
  std::printf("%ld %d %d %d\n", sum.load(), right, constructed.load(), destroyed.load());

  std::vector<std::future<long>> futures;
  for (int i = 0; i < 24; ++i)
    futures.push_back(std::async(std::launch::async, [i] {
      if (i % 8 == 7) throw std::out_of_range(std::to_string(i));
      std::vector<long> values(200);
      std::iota(values.begin(), values.end(), i);
      return std::accumulate(values.begin(), values.end(), 0L);
    }));
  long total = 0;
  for (auto& future : futures) {
    try {
      total += future.get();
    } catch (const std::out_of_range& error) {
      std::printf("out of range: %s\n", error.what());
    }
  }
  std::printf("%ld\n", total);

  std::atomic<int> stage{0};
  std::thread waiter([&] {
    for (int i = 0; i < 50; ++i) {
      stage.wait(2 * i);
      ++stage;
      stage.notify_one();
    }
  });
  for (int i = 0; i < 50; ++i) {
    ++stage;
    stage.notify_one();
    stage.wait(2 * i + 1);
  }
  waiter.join();
  std::printf("%d\n", stage.load());

  int phases = 0;
  std::barrier barrier(5, [&]() noexcept { ++phases; });
  std::counting_semaphore<2> two(2);
  std::atomic<int> inside{0}, most{0};
  {
    std::vector<std::jthread> group;
    for (int t = 0; t < 5; ++t)
      group.emplace_back([&] {
        for (int i = 0; i < 12; ++i) {
          two.acquire();
          const int n = ++inside;
          if (n > most) most = n;
          --inside;
          two.release();
          barrier.arrive_and_wait();
        }
      });
  }
  std::printf("%d %d\n", phases, most.load() <= 2);

  std::mutex mutex;
  std::condition_variable_any condition;
  std::atomic<bool> started{false};
  std::jthread stopped([&](std::stop_token token) {
    std::unique_lock lock(mutex);
    started = true;
    condition.wait(lock, token, [] { return false; });
  });
  while (!started) {
  }
  std::printf("%d\n", stopped.request_stop());
  stopped.join();

  std::once_flag flag;
  std::atomic<int> tries{0};
  threads.clear();
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&] {
      try {
        std::call_once(flag, [&] {
          if (++tries < 3) throw 1;
        });
      } catch (int) {
      }
    });
  for (auto& thread : threads) thread.join();
  std::printf("%d\n", tries.load());
  std::promise<int> promise;
  std::thread([&] { promise.set_exception_at_thread_exit(std::make_exception_ptr(3)); }).detach();
  try {
    promise.get_future().get();
  } catch (int n) {
    std::printf("caught %d\n", n);
  }
  return 0;
}
