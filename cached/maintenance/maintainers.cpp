// SPDX-License-Identifier: MIT
#include "cached/maintenance/maintainers.hpp"

#include <semaphore.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

namespace rubato::cached {

void Maintainers::start() {
  crawler_enabled_ = settings_.lru_crawler;
  maintainer_ = std::thread([this] { maintain(); });
  crawler_ = std::thread([this] { crawl_loop(); });
  mover_ = std::thread([this] { move_loop(); });
}

void Maintainers::stop() {
  {
    std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (sem_t* wakes = engine_.wakes()) sem_post(wakes);
  for (std::thread* thread : {&maintainer_, &crawler_, &mover_})
    if (thread->joinable()) thread->join();
}

bool Maintainers::wait(unsigned microseconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::microseconds(microseconds), [&] { return stopping_; });
  return !stopping_;
}

bool Maintainers::wait_for_engine(unsigned microseconds, bool& woken) {
  sem_t* wakes = engine_.wakes();
  if (!wakes) return wait(microseconds);
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  const std::uint64_t nanoseconds =
      static_cast<std::uint64_t>(until.tv_nsec) + microseconds * std::uint64_t{1000};
  until.tv_sec += static_cast<time_t>(nanoseconds / 1000000000), until.tv_nsec = nanoseconds % 1000000000;
  woken = sem_clockwait(wakes, CLOCK_MONOTONIC, &until) == 0;
  std::lock_guard guard(mutex_);
  return !stopping_;
}

// Each class has a pause of its own, since most have nothing to do, and looking costs as much as a request.
void Maintainers::maintain() {
  using Time = std::chrono::steady_clock;
  using std::chrono::microseconds;
  constexpr microseconds kShortest{1000}, kLongest{250000};
  struct Rest {
    Time::time_point until{};
    microseconds pause = kShortest;
  };
  std::array<Rest, kMaxClasses> rests{};
  const unsigned last = settings_.lru_maintainer ? engine_.sizes().last() : 0;
  auto next_automove = Time::now(), next_growth = next_automove;
  bool woken = false;
  for (;;) {
    const auto now = Time::now();
    auto next = now + kLongest;
    for (unsigned c = 1; c <= last; ++c) {
      Rest& rest = rests[c];
      if (rest.until <= now) {
        rest.pause =
            engine_.juggle(c) ? std::max(rest.pause / 2, kShortest) : std::min(rest.pause * 2, kLongest);
        rest.until = now + rest.pause;
      }
      next = std::min(next, rest.until);
    }
    juggles_.add();
    if (woken || next_growth <= now) {
      next_growth = now + kGrowthInterval;
      while (engine_.wants_expansion() && engine_.expand()) {
        std::lock_guard guard(mutex_);
        if (stopping_) return;
      }
    }
    if (next_automove <= now) {
      next_automove += std::chrono::seconds(1);
      automove();
    }
    next = std::min(next, next_growth);
    const auto pause = std::chrono::duration_cast<microseconds>(next - Time::now());
    if (!wait_for_engine(static_cast<unsigned>(std::max(pause, kShortest).count()), woken)) return;
  }
}

void Maintainers::automove() {
  if (!settings_.slab_reassign || !settings_.automove) return;
  unsigned most = 0;
  std::uint64_t most_evictions = 0;
  for (unsigned c = 1; c <= engine_.sizes().last(); ++c) {
    std::uint64_t evicted = 0;
    for (const Segment segment : {kHot, kWarm, kCold, kTemporary})
      evicted += engine_.lru(c | segment).statistics.evicted;
    const std::uint64_t now = evicted - std::min(evicted_before_[c], evicted);
    evicted_before_[c] = evicted;
    if (now > most_evictions) most = c, most_evictions = now;
  }
  windows_in_a_row_ = most && most == most_evicted_ ? windows_in_a_row_ + 1 : most ? 1u : 0u;
  most_evicted_ = most;
  if (!most || (settings_.automove == 1 && windows_in_a_row_ < 3)) return;
  // The class whose oldest items are oldest gives: what it loses was asked for least.
  const std::uint32_t own_age = engine_.tail_age(most | (engine_.tuning().segmented ? kCold : kCold));
  unsigned giver = 0;
  double oldest = static_cast<double>(own_age) / settings_.automove_ratio;
  for (unsigned c = 1; c <= engine_.sizes().last(); ++c) {
    if (c == most) continue;
    const ClassReport report = engine_.slab_class(c);
    if (report.spare_pages == 0) continue;
    const bool nearly_empty = report.free_chunks >= 2 * report.chunks_per_page;
    const double age = nearly_empty ? 1e18 : static_cast<double>(engine_.tail_age(c | kCold));
    if (age > oldest) oldest = age, giver = c;
  }
  if (giver) reassign(giver, most);
}

bool Maintainers::crawl(std::uint64_t classes) {
  std::lock_guard guard(mutex_);
  if (crawling_ || crawl_classes_) return false;
  crawl_classes_ = classes;
  changed_.notify_all();
  return true;
}

void Maintainers::crawl_loop() {
  // Without being asked it looks at all items once an hour, so that what expired does not stay.
  constexpr auto kInterval = std::chrono::hours(1);
  for (;;) {
    std::uint64_t classes = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kInterval, [&] { return stopping_ || crawl_classes_; });
      if (stopping_) return;
      classes = std::exchange(crawl_classes_, 0);
      crawling_ = classes || crawler_enabled_;
    }
    if (!classes && crawler_enabled_) classes = ~std::uint64_t{0};
    if (!classes) continue;
    crawls_.add();
    std::uint64_t position = 0;
    do {
      position = engine_.crawl(position, classes, {});
      if (position % 4096 == 0 && !wait(settings_.crawler_sleep)) return;
    } while (position && crawler_enabled_);
    crawling_ = false;
  }
}

MoveResult Maintainers::reassign(unsigned from, unsigned to) {
  if (from && engine_.slab_class(from).spare_pages == 0) return MoveResult::no_page;
  std::lock_guard guard(mutex_);
  if (moving_ || !moves_.empty()) return MoveResult::busy;
  moves_.emplace_back(from, to);
  changed_.notify_all();
  return MoveResult::done;
}

void Maintainers::move_loop() {
  for (;;) {
    std::pair<unsigned, unsigned> move;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !moves_.empty(); });
      if (stopping_) return;
      move = moves_.front();
      moves_.pop_front();
      moving_ = true;
    }
    engine_.move_page(move.first, move.second);
    moving_ = false;
  }
}

}  // namespace rubato::cached
