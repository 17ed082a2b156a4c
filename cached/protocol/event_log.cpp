// SPDX-License-Identifier: MIT
#include "cached/protocol/event_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cached/protocol/address.hpp"
#include "cached/protocol/dump.hpp"

namespace rubato::cached {

class EventLog::Watcher {
 public:
  Watcher(unsigned kinds, std::function<void()> tell) : kinds_(kinds), tell_(std::move(tell)) {}

 private:
  friend class EventLog;
  unsigned kinds_;
  std::function<void()> tell_;
  std::string lines_;
  std::uint64_t skipped_ = 0;
  bool told_ = false;
};

void EventLog::get(const Get& event) {
  add_line(kFetchers,
           fmt::format("type=item_get key={} status={} clsid={} cfd={} size={}\n", escaped(event.key),
                       event.status, event.slab_class, event.descriptor, event.length));
}

void EventLog::store(const Store& event) {
  add_line(kMutations, fmt::format("type=item_store key={} status={} cmd={} ttl={} clsid={} cfd={} size={}\n",
                                   escaped(event.key), event.status, event.command, event.seconds_left,
                                   event.slab_class, event.descriptor, event.length));
}

void EventLog::connection(int descriptor, std::string_view reason) {
  const Endpoint client = client_endpoint(descriptor);
  const std::string from = fmt::format("rip={} rport={} transport={}", client.host, client.port,
                                       client.is_local ? "local" : "tcp");
  add_line(kConnections,
           reason.empty() ? fmt::format("type=conn_new {} cfd={}\n", from, descriptor)
                          : fmt::format("type=conn_close {} reason={} cfd={}\n", from, reason, descriptor));
}

void EventLog::evicted(const Evicted& item) {
  add_line(kEvictions, fmt::format("type=eviction key={} fetch={} ttl={} la={} clsid={} size={}\n",
                                   escaped({item.key, item.key_length}), item.fetched ? "yes" : "no",
                                   item.seconds_left, item.idle, item.slab_class, item.length));
}

void EventLog::add_line(Kind kind, std::string_view event) {
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  std::lock_guard guard(mutex_);
  const std::string line = fmt::format("ts={}.{} gid={} {}", now / 1000000, now % 1000000, ++number_, event);
  for (const auto& watcher : watchers_) {
    if (!(watcher->kinds_ & kind)) continue;
    if (watcher->lines_.size() + line.size() > most_waiting_) {
      ++watcher->skipped_, ++skipped_;
      continue;
    }
    watcher->lines_ += line;
    ++sent_;
    if (!std::exchange(watcher->told_, true)) watcher->tell_();
  }
}

std::shared_ptr<EventLog::Watcher> EventLog::add(unsigned kinds, std::function<void()> tell) {
  std::lock_guard guard(mutex_);
  if (watchers_.size() >= kMostWatchers) return nullptr;
  watchers_.push_back(std::make_shared<Watcher>(kinds, std::move(tell)));
  choose_wanted();
  return watchers_.back();
}

void EventLog::remove(const std::shared_ptr<Watcher>& watcher) {
  std::lock_guard guard(mutex_);
  std::erase(watchers_, watcher);
  choose_wanted();
}

void EventLog::choose_wanted() {
  unsigned kinds = 0;
  for (const auto& watcher : watchers_) kinds |= watcher->kinds_;
  wanted_.store(kinds, std::memory_order_relaxed);
  want((kinds & kEvictions) != 0);
}

std::string EventLog::take(Watcher& watcher) {
  std::lock_guard guard(mutex_);
  if (watcher.skipped_) watcher.lines_ += fmt::format("skipped={}\n", std::exchange(watcher.skipped_, 0));
  if (watcher.lines_.empty()) watcher.told_ = false;
  return std::exchange(watcher.lines_, {});
}

EventLog::Numbers EventLog::numbers() {
  std::lock_guard guard(mutex_);
  return {watchers_.size(), number_, sent_, skipped_};
}

}  // namespace rubato::cached
