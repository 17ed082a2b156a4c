// An event loop of one thread, on libevent (T72): its own, which does nothing else, or one that turns it
// now and then. Only this header and its source know libevent.
// SPDX-License-Identifier: MIT
#pragma once

#include <event2/event_struct.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cached/core/executor.hpp"

namespace rubato::cached {

class Loop final : public RequestSource {
 public:
  enum Events : short { kRead = 1, kWrite = 2 };
  using Ready = void (*)(void* owner, int events);

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Serves until `stop`.
  void run();
  /// Or this, again and again in one thread, until it is false.
  bool turn(bool may_wait) override;
  void ended() override {
    ended_ = true;
    ended_.notify_all();
  }
  /// Waits until the thread that turns the loop has said that it ended.
  void wait_for_end() const { ended_.wait(false); }
  /// Whether the caller is the thread that turns it.
  bool is_turned_here() const {
    return turner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  /// From any thread.
  void stop();
  /// Runs f in the loop's thread, from any thread; in order.
  void post(std::function<void()> f) override;
  /// Runs f every so often from now on.
  void every(unsigned milliseconds, std::function<void()> f);
  /// An alarm: calls `f` once, so long after `set`. In the loop's thread, or before it runs.
  class Alarm {
   public:
    Alarm(Loop& loop, std::function<void()> f);
    void set(unsigned milliseconds);

   private:
    event* event_;
  };
  void on_signal(int number, std::function<void()> f);

  static const char* library_version();

  /// Calls the owner whenever the descriptor is ready, until destroyed. In the loop's thread only.
  class Watch {
   public:
    Watch(Loop& loop, int descriptor, short events, Ready ready, void* owner);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    /// 0: nothing for now.
    void change(short events);
    /// The owner is called once more, after others had their turn.
    void again(short events);
    short events() const { return events_; }

   private:
    static void call(int descriptor, short what, void* self);
    event event_;
    short events_;
    Ready ready_;
    void* owner_;
  };

 private:
  struct Timer {
    std::function<void()> f;
    event* handle = nullptr;
  };
  static void run_posted(void* self, int);
  event_base* base_;
  int wake_;
  bool is_stopped_ = false;
  std::atomic<bool> ended_{false};
  std::atomic<std::thread::id> turner_{};
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
  std::vector<std::unique_ptr<Timer>> timers_;
  std::unique_ptr<Watch> wake_watch_;
};

}  // namespace rubato::cached
