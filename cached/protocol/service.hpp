// The server around a session. Sessions are driven by connections, and by tests without any.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cached/core/engine.hpp"
#include "cached/options/settings.hpp"
#include "cached/statistics/prefixes.hpp"

namespace rubato::cached {

using StatSink = std::function<void(std::string_view name, std::string_view value)>;

enum class Dump : std::uint8_t { metadump, mgdump };

/// Whether this group of `stats` is a command that switches counts of sizes. As in memcached its answer is a
/// line without an end behind it.
inline bool is_switch_of_sizes(std::string_view group) {
  return group == "sizes_enable" || group == "sizes_disable";
}

/// Maintainers and statistics, as commands of administration use them.
class Service {
 public:
  virtual ~Service() = default;
  /// `stats` and its groups; false if there is no such group.
  virtual bool report(std::string_view group, const StatSink& sink) = 0;
  virtual void reset_statistics() = 0;
  virtual void end(bool graceful) = 0;
  /// Crawls the classes whose bits are set; false if a crawl is under way.
  virtual bool crawl(std::uint64_t classes) = 0;
  virtual bool crawler_enabled() const = 0;
  /// False if it was so before.
  virtual bool enable_crawler(bool on) = 0;
  virtual MoveResult reassign(unsigned from, unsigned to) = 0;
  /// Reads the certificates of TLS again. The result is the error, or empty.
  virtual std::string refresh_certificates() = 0;
  /// Whether user and password are in the file of -Y.
  virtual bool authenticates(std::string_view user, std::string_view password) = 0;
};

class EventLog;

struct Context {
  CacheEngine& engine;
  Settings& settings;
  Clock& clock;
  HashFunction hash;
  Service& service;
  PrefixCounts& prefixes;
  EventLog& log;
};

}  // namespace rubato::cached
