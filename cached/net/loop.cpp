// SPDX-License-Identifier: MIT
#include "cached/net/loop.hpp"

#include <event2/event.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <new>
#include <utility>

namespace rubato::cached {

namespace {
short to_libevent(short events) {
  return static_cast<short>((events & Loop::kRead ? EV_READ : 0) | (events & Loop::kWrite ? EV_WRITE : 0) |
                            EV_PERSIST);
}
timeval interval_of(unsigned milliseconds) {
  return {static_cast<time_t>(milliseconds / 1000), static_cast<suseconds_t>(milliseconds % 1000 * 1000)};
}
}  // namespace

Loop::Loop() {
  event_config* config = event_config_new();
  if (!config) throw std::bad_alloc();
  // A loop belongs to a single thread; others wake it by a descriptor.
  event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
  base_ = event_base_new_with_config(config);
  event_config_free(config);
  wake_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (!base_ || wake_ < 0) throw std::bad_alloc();
  wake_watch_ = std::make_unique<Watch>(*this, wake_, kRead, &run_posted, this);
}

Loop::~Loop() {
  wake_watch_.reset();
  for (const auto& timer : timers_) event_free(timer->handle);
  event_base_free(base_);
  ::close(wake_);
}

void Loop::run() { event_base_dispatch(base_); }

bool Loop::turn(bool may_wait) {
  turner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  event_base_loop(base_, may_wait ? EVLOOP_ONCE : EVLOOP_NONBLOCK);
  return !is_stopped_;
}

void Loop::stop() {
  post([this] {
    is_stopped_ = true;
    event_base_loopbreak(base_);
  });
}

void Loop::post(std::function<void()> f) {
  {
    std::lock_guard guard(mutex_);
    posted_.push_back(std::move(f));
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
}

void Loop::run_posted(void* self, int) {
  Loop& loop = *static_cast<Loop*>(self);
  std::uint64_t count;
  [[maybe_unused]] const ssize_t got = ::read(loop.wake_, &count, sizeof count);
  std::vector<std::function<void()>> work;
  {
    std::lock_guard guard(loop.mutex_);
    work.swap(loop.posted_);
  }
  for (auto& f : work) f();
}

void Loop::every(unsigned milliseconds, std::function<void()> f) {
  auto timer = std::make_unique<Timer>();
  timer->f = std::move(f);
  timer->handle = event_new(
      base_, -1, EV_PERSIST, [](int, short, void* t) { static_cast<Timer*>(t)->f(); }, timer.get());
  const timeval interval = interval_of(milliseconds);
  event_add(timer->handle, &interval);
  timers_.push_back(std::move(timer));
}

Loop::Alarm::Alarm(Loop& loop, std::function<void()> f) {
  auto timer = std::make_unique<Timer>();
  timer->f = std::move(f);
  timer->handle = event_ = event_new(
      loop.base_, -1, 0, [](int, short, void* t) { static_cast<Timer*>(t)->f(); }, timer.get());
  if (!event_) throw std::bad_alloc();
  loop.timers_.push_back(std::move(timer));
}

void Loop::Alarm::set(unsigned milliseconds) {
  const timeval delay = interval_of(milliseconds);
  event_add(event_, &delay);
}

void Loop::on_signal(int number, std::function<void()> f) {
  auto timer = std::make_unique<Timer>();
  timer->f = std::move(f);
  timer->handle = event_new(
      base_, number, EV_SIGNAL | EV_PERSIST, [](int, short, void* t) { static_cast<Timer*>(t)->f(); },
      timer.get());
  event_add(timer->handle, nullptr);
  timers_.push_back(std::move(timer));
}

const char* Loop::library_version() { return event_get_version(); }

Loop::Watch::Watch(Loop& loop, int descriptor, short events, Ready ready, void* owner)
    : events_(events), ready_(ready), owner_(owner) {
  event_assign(&event_, loop.base_, descriptor, to_libevent(events), &call, this);
  if (events && event_add(&event_, nullptr)) throw std::bad_alloc();
}

Loop::Watch::~Watch() { event_del(&event_); }

void Loop::Watch::change(short events) {
  if (events == events_) return;
  event_del(&event_);
  events_ = events;
  if (!events) return;
  event_assign(&event_, event_get_base(&event_), event_get_fd(&event_), to_libevent(events), &call, this);
  event_add(&event_, nullptr);
}

void Loop::Watch::again(short events) {
  event_active(&event_, static_cast<short>(events & kRead ? EV_READ : EV_WRITE), 0);
}

void Loop::Watch::call(int, short what, void* self) {
  const Watch& watch = *static_cast<Watch*>(self);
  watch.ready_(watch.owner_, (what & EV_READ ? kRead : 0) | (what & EV_WRITE ? kWrite : 0));
}

}  // namespace rubato::cached
