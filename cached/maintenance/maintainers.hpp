// The threads that keep a cache in shape (rules T72, T74, T75): LRU maintainer and table growth, crawler,
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
#include "cached/options/settings.hpp"

namespace rubato::cached {

class Maintainers {
 public:
  Maintainers(CacheEngine& engine, Settings& settings) : engine_(engine), settings_(settings) {}
  ~Maintainers() { stop(); }
  void start();
  void stop();

  bool crawl(std::uint64_t classes);
  bool crawler_enabled() const { return crawler_enabled_; }
  void enable_crawler(bool on) { crawler_enabled_ = on; }
  /// Whether the mover has taken the request, or why not.
  MoveResult reassign(unsigned from, unsigned to);

  std::uint64_t juggles() const { return juggles_.get(); }
  std::uint64_t crawls() const { return crawls_.get(); }
  bool crawling() const { return crawling_; }
  bool moving() const { return moving_; }

 private:
  /// How often is asked whether the table should grow, for which the items of all lists are added.
  static constexpr std::chrono::milliseconds kGrowthInterval{50};

  void maintain();
  void crawl_loop();
  void move_loop();
  /// Chooses by evictions and ages of the last windows, as automove asks.
  void automove();
  bool wait(unsigned microseconds);
  /// Shorter if the engine wakes the maintainer, which `woken` says.
  bool wait_for_engine(unsigned microseconds, bool& woken);

  CacheEngine& engine_;
  Settings& settings_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::uint64_t crawl_classes_ = 0;
  std::deque<std::pair<unsigned, unsigned>> moves_;
  std::atomic<bool> crawler_enabled_{true}, crawling_{false}, moving_{false};
  Counter juggles_, crawls_;
  std::array<std::uint64_t, kMaxClasses> evicted_before_{};
  unsigned most_evicted_ = 0, windows_in_a_row_ = 0;
  std::thread maintainer_, crawler_, mover_;
};

}  // namespace rubato::cached
