// SPDX-License-Identifier: MIT
#include "cached/maintenance/maintainers.hpp"

#include <algorithm>
#include <chrono>
#include <memory>

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
  if (Wake* wakes = engine_.wakes()) wakes->post();
  for (std::thread* thread : {&maintainer_, &crawler_, &mover_})
    if (thread->joinable()) thread->join();
}

bool Maintainers::wait(unsigned microseconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::microseconds(microseconds), [&] { return stopping_; });
  return !stopping_;
}

bool Maintainers::wait_for_engine(unsigned microseconds, bool& woken) {
  Wake* wakes = engine_.wakes();
  if (!wakes) return wait(microseconds);
  woken = wakes->wait_for(std::chrono::microseconds(microseconds));
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
  auto next_growth = Time::now();
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
    look_each_second();
    next = std::min(next, next_growth);
    const auto pause = std::chrono::duration_cast<microseconds>(next - Time::now());
    if (!wait_for_engine(static_cast<unsigned>(std::max(pause, kShortest).count()), woken)) return;
  }
}

void Maintainers::look_each_second() {
  const std::uint32_t now = clock_.now();
  if (now == looked_at_) return;
  looked_at_ = now;
  automove();
  if (!settings_.lru_maintainer || !crawler_enabled_) return;
  std::lock_guard guard(mutex_);
  if (crawling_) return;
  const std::uint64_t due = schedule_.due(now);
  if (!due) return;
  crawl_classes_ = due, automatic_ = true, crawling_ = true;
  changed_.notify_all();
}

void Maintainers::automove() {
  if (!settings_.slab_reassign || !settings_.automove) return;
  if (const auto move = balance_.choose(engine_.loads(), settings_.automove_ratio, settings_.automove == 2))
    take_move(*move, /*all=*/move->to == 0);
}

bool Maintainers::crawl(std::uint64_t classes) {
  std::lock_guard guard(mutex_);
  if (crawling_ && !automatic_) return false;
  crawl_classes_ = classes, automatic_ = false, crawling_ = true;
  changed_.notify_all();
  return true;
}

void Maintainers::crawl_loop() {
  for (;;) {
    std::uint64_t classes = 0;
    bool automatic = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || crawl_classes_ != 0; });
      if (stopping_) return;
      classes = crawl_classes_.exchange(0), automatic = automatic_;
    }
    crawls_.add();
    if (!crawl_once(classes, automatic)) return;
    std::lock_guard guard(mutex_);
    if (!crawl_classes_) crawling_ = false;
  }
}

bool Maintainers::crawl_once(std::uint64_t classes, bool automatic) {
  const auto census = std::make_unique<CrawlCensus>();
  const std::uint64_t all = classes, limit = settings_.crawler_to_crawl;
  // With a limit it goes on where the last one has stopped, around the table at most once.
  const std::uint64_t start = limit ? crawl_from_ : 0;
  std::uint64_t position = start;
  for (bool around = start == 0;;) {
    position = engine_.crawl(position, classes, {}, census.get());
    for (unsigned c = 1; limit && c < kMaxClasses; ++c)
      if (census->classes[c].alive + census->classes[c].reclaimed >= limit)
        classes &= ~(std::uint64_t{1} << c);
    const bool is_over = position == 0 ? around : around && start != 0 && position >= start;
    around |= position == 0;
    crawl_from_ = position;
    if (is_over || !classes || !crawler_enabled_) break;
    if (crawl_classes_) return true;  // one that was asked for
    if (position % 4096 == 0 && !wait(settings_.crawler_sleep)) return false;
  }
  if (!automatic) return true;
  std::lock_guard guard(mutex_);
  schedule_.note(*census, all, clock_.now());
  return true;
}

MoveResult Maintainers::take_move(PageMove move, bool all) {
  if (move.from && engine_.slab_class(move.from).spare_pages == 0) return MoveResult::no_page;
  std::lock_guard guard(mutex_);
  if (moving_ || !moves_.empty()) return MoveResult::busy;
  moves_.push_back({move, all});
  changed_.notify_all();
  return MoveResult::done;
}

void Maintainers::move_loop() {
  for (;;) {
    Move move{};
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !moves_.empty(); });
      if (stopping_) return;
      move = moves_.front();
      moves_.pop_front();
      moving_ = true;
    }
    // A class gives all its free pages to the pool: a burst of another size may come at any time.
    while (engine_.move_page(move.page.from, move.page.to) == MoveResult::done && move.all) {
      if (!PageBalance::can_give(engine_.loads()[move.page.from])) break;
      std::lock_guard guard(mutex_);
      if (stopping_) return;
    }
    moving_ = false;
  }
}

}  // namespace rubato::cached
