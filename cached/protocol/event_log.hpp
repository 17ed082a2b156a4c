// The log that clients see with `watch`: a line for each fetch, store, eviction or connection, as memcached
// writes them. While it is off it costs a load a request. A watcher that reads slowly loses lines, and gets
// their number.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cached/core/engine.hpp"

namespace rubato::cached {

class EventLog final : public EvictionWatch {
 public:
  enum Kind : std::uint8_t {
    kFetchers = 1,
    kMutations = 2,
    kEvictions = 4,
    kConnections = 8,
    kSilent = 16,  ///< kinds of which memcached 1.6.18 writes no line without a proxy
    kFetchersOrMutations = kFetchers | kMutations
  };
  static constexpr std::size_t kMostWatchers = 20;

  /// Lines that wait for one watcher.
  class Watcher;

  /// @param most_waiting  bytes that may wait for each watcher
  explicit EventLog(std::size_t most_waiting) : most_waiting_(most_waiting) {}

  bool wants(Kind kind) const { return (wanted_.load(std::memory_order_relaxed) & kind) != 0; }
  struct Get {
    std::string_view key, status;
    unsigned slab_class;
    int descriptor;
    std::uint32_t length;
  };
  void get(const Get& event);
  struct Store {
    std::string_view key, status, command;
    std::uint32_t seconds_left;
    unsigned slab_class;
    int descriptor;
    std::uint32_t length;
  };
  void store(const Store& event);
  /// `reason` is empty of a new one.
  void connection(int descriptor, std::string_view reason);
  void evicted(const Evicted& item) override;

  /// `tell` is called, from any thread and with a lock held, when there are lines and none were there before.
  /// Null: there are too many watchers.
  std::shared_ptr<Watcher> add(unsigned kinds, std::function<void()> tell);
  void remove(const std::shared_ptr<Watcher>& watcher);
  /// Its lines, and how many it has lost after them; empty: it will be told of the next.
  std::string take(Watcher& watcher);

  struct Numbers {
    std::uint64_t watchers, written, sent, skipped;
  };
  Numbers numbers();

 private:
  void add_line(Kind kind, std::string_view event);
  void choose_wanted();

  std::size_t most_waiting_;
  std::atomic<unsigned> wanted_{0};  ///< kinds that some watcher wants
  std::mutex mutex_;
  std::vector<std::shared_ptr<Watcher>> watchers_;
  std::uint64_t number_ = 0, sent_ = 0, skipped_ = 0;
};

}  // namespace rubato::cached
