// Tasks that wait for the world outside: a coroutine for each request asks a store, whose thread answers by
// a callback, as threads of I/O libraries do. No worker waits meanwhile. A request that has no answer in time
// is given up. Host engines.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rubato/coroutine.hpp"
#include "rubato/rubato.hpp"

using namespace std::chrono_literals;

/// Stands for a library with a thread of its own. It never answers for the key "lost".
class Store {
 public:
  using Answer = std::function<void(std::string)>;

  Store() : thread_([this] { answer_all(); }) {}
  ~Store() {
    read_later("", nullptr);
    thread_.join();
  }
  void read_later(std::string key, Answer answer) {
    const std::lock_guard lock(mutex_);
    questions_.emplace_back(std::move(key), std::move(answer));
    changed_.notify_one();
  }

 private:
  void answer_all() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !questions_.empty(); });
      const auto [key, answer] = std::move(questions_.front());
      questions_.pop_front();
      lock.unlock();
      if (answer == nullptr) return;
      if (key != "lost") answer("value of " + key);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::string, Answer>> questions_;
  std::thread thread_;
};

/// Shared with the store, whose answer may come when the request has been given up: the first ends the wait.
struct Reading {
  void end(std::string result) {
    if (is_over.exchange(true)) return;
    value = std::move(result);
    event.set();
  }
  std::atomic<bool> is_over = false;
  std::string value;
  rubato::TaskGroup arrived;
  rubato::OutsideEvent event{arrived};
};

rubato::Coroutine serve(Store* store, std::string key, std::string* result) {
  const auto reading = std::make_shared<Reading>();
  store->read_later(key, [reading](std::string value) { reading->end(std::move(value)); });
  rubato::DelayedTask timeout =
      rubato::create_later<rubato::nonspec>(200ms, [reading] { reading->end("no answer in time"); }, {});
  co_await rubato::completed(reading->arrived);
  timeout.cancel();
  *result = key + ": " + reading->value;
}

int main() {
  const std::vector<std::string> keys{"apple", "lost", "pear"};
  std::vector<std::string> results(keys.size());
  rubato::TaskGroup requests;
  Store store;
  for (std::size_t i = 0; i < keys.size(); ++i)
    rubato::create<rubato::nonspec>(serve(&store, keys[i], &results[i]), {.group = &requests});
  rubato::create<rubato::nonspec>(
      [&results] {
        for (const std::string& result : results) std::puts(result.c_str());
      },
      {.after = &requests});
  rubato::run();
}
