// The threads that keep a cache in shape (T72, T74, T75): LRU maintainer and table growth, crawler,
// page mover. Each works in the engine's short slices and sleeps between rounds; how long says how much there
// was to do.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "cached/core/engine.hpp"
#include "cached/maintenance/crawl_schedule.hpp"
#include "cached/maintenance/page_balance.hpp"
#include "cached/options/settings.hpp"

namespace rubato::cached {

class Maintainers {
 public:
  Maintainers(CacheEngine& engine, Settings& settings, const Clock& clock)
      : engine_(engine), settings_(settings), clock_(clock) {}
  ~Maintainers() { stop(); }
  void start();
  void stop();

  /// A crawl that was asked for; it ends one that the crawler began by itself. False: another one that
  /// was asked for is under way. From here on `crawling` until it has ended.
  bool crawl(std::uint64_t classes);
  bool crawler_enabled() const { return crawler_enabled_; }
  /// False if it was so before.
  bool enable_crawler(bool on) { return crawler_enabled_.exchange(on) != on; }
  /// Whether the mover has taken the request, or why not.
  MoveResult reassign(unsigned from, unsigned to) { return take_move({from, to}, /*all=*/false); }

  std::uint64_t juggles() const { return juggles_.get(); }
  std::uint64_t crawls() const { return crawls_.get(); }
  bool crawling() const { return crawling_; }
  bool moving() const { return moving_; }

 private:
  /// How often is asked whether the table should grow, for which the items of all lists are added.
  static constexpr std::chrono::milliseconds kGrowthInterval{50};

  void maintain();
  void crawl_loop();
  /// A crawl; false if the server ends meanwhile.
  bool crawl_once(std::uint64_t classes, bool automatic);
  void move_loop();
  /// @param all  not one page, but all that the class can give
  MoveResult take_move(PageMove move, bool all);
  /// Each second of the cache's clock: what is due of the crawler and the page mover.
  void look_each_second();
  void automove();
  bool wait(unsigned microseconds);
  /// Shorter if the engine wakes the maintainer, which `woken` says.
  bool wait_for_engine(unsigned microseconds, bool& woken);

  CacheEngine& engine_;
  Settings& settings_;
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::atomic<std::uint64_t> crawl_classes_{0};  ///< of the crawl that comes next; written under the mutex
  bool automatic_ = false;                       ///< the crawl under way, or that comes next
  std::uint64_t crawl_from_ = 0;                 ///< where the last one has stopped, if it had a limit
  CrawlSchedule schedule_;                       ///< under the mutex
  struct Move {
    PageMove page;
    bool all;
  };
  std::deque<Move> moves_;
  std::atomic<bool> crawler_enabled_{true}, crawling_{false}, moving_{false};
  Counter juggles_, crawls_;
  PageBalance balance_;
  std::uint32_t looked_at_ = 0;  ///< second of the clock
  std::thread maintainer_, crawler_, mover_;
};

}  // namespace rubato::cached
