// Statistics, maintenance and the few other text commands that touch no item.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "cached/privileges/privileges.hpp"
#include "cached/protocol/event_log.hpp"
#include "cached/protocol/handlers.hpp"
#include "cached/protocol/numbers.hpp"

namespace rubato::cached {

namespace {

/// Bits of the classes that "1,2,3" or "all" names; 0 if one is none.
std::uint64_t classes_of(std::string_view text, unsigned last, bool allow_hash) {
  if (text == "all" || (allow_hash && text == "hash")) return ~std::uint64_t{0};
  std::uint64_t bits = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    unsigned one = 0;
    if (!to_number(text.substr(0, end), one) || one < 1 || one > std::min(last, 63u)) return 0;
    bits |= std::uint64_t{1} << one;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return bits;
}

}  // namespace

void AdminCommands::version(const Words&) { s_.answer(fmt::format("VERSION {}", version_text())); }

void AdminCommands::verbosity(const Words& words) {
  if (words.count < 2 || words.count > 3) return s_.error("ERROR");
  std::uint32_t level = 0;
  note_no_reply(words);
  if (!to_number(words[1], level)) return s_.answer("CLIENT_ERROR bad command line format");
  s_.context_.settings.verbosity = static_cast<int>(std::min(level, 2u));
  s_.answer("OK");
}

void AdminCommands::note_no_reply(const Words& words) { s_.no_reply_ = words[words.count - 1] == "noreply"; }

void AdminCommands::stats(const Words& words) {
  const auto sink = [&](std::string_view stat, std::string_view value) {
    s_.output_.append(fmt::format("STAT {} {}\r\n", stat, value));
  };
  Service& service = s_.context_.service;
  if (words.count < 2) {
    service.report("", sink);
    return s_.answer("END");
  }
  const std::string_view group = words[1];
  if (group == "reset") {
    service.reset_statistics();
    return s_.answer("RESET");
  }
  if (group == "detail") {
    const std::string_view what = words[2];
    if (what == "on" || what == "off") {
      s_.context_.settings.detail = what == "on";
      return s_.answer("OK");
    }
    if (what != "dump") return s_.error("CLIENT_ERROR usage: stats detail on|off|dump");
    s_.output_.append(s_.context_.prefixes.dump());
    return s_.answer("END");
  }
  if (group == "cachedump") return cachedump(words);
  if (!service.report(group, sink)) return s_.answer("ERROR");
  if (!is_switch_of_sizes(group)) s_.answer("END");
}

void AdminCommands::cachedump(const Words& words) {
  if (!s_.context_.settings.dump) return s_.error("CLIENT_ERROR stats cachedump not allowed");
  if (words.count < 4) return s_.error("CLIENT_ERROR bad command line");
  std::uint32_t id = 0, limit = 0;
  if (!to_number(words[2], id) || !to_number(words[3], limit))
    return s_.error("CLIENT_ERROR bad command line format");
  if (id >= kMaxClasses) return s_.error("CLIENT_ERROR Illegal slab id");
  const unsigned segment = s_.engine_.tuning().segmented ? kHot : kCold;
  std::size_t size = 0;
  // Two MiB at most, as in memcached: it is made inside one section.
  s_.engine_.list_items(id | segment, limit ? limit : 20000, [&](const ItemReport& report) {
    if (size > (2u << 20)) return;
    const Item& item = *report.item;
    const std::string text = fmt::format("ITEM {} [{} b; {} s]\r\n", report.key, item.bytes - 2,
                                         item.expiry ? s_.context_.clock.wall(item.expiry) : 0);
    size += text.size();
    s_.output_.append(text);
  });
  s_.answer("END");
}

void AdminCommands::slabs(const Words& words) {
  if (words.count == 4 && words[1] == "reassign") {
    if (!s_.context_.settings.slab_reassign) return s_.error("CLIENT_ERROR slab reassignment disabled");
    std::int32_t from = 0, to = 0;
    if (!to_number(words[2], from) || !to_number(words[3], to))
      return s_.error("CLIENT_ERROR bad command line format");
    const auto last = static_cast<std::int32_t>(s_.engine_.sizes().last());
    if (from == to) return s_.answer("SAME src and dst class are identical");
    if (from < -1 || from > last || to < 0 || to > last)
      return s_.answer("BADCLASS invalid src or dst class id");
    if (from == 0 && s_.engine_.memory().pool_pages == 0)
      return s_.answer("NOSPARE source class has no spare pages");
    switch (
        s_.context_.service.reassign(from < 0 ? 0 : static_cast<unsigned>(from), static_cast<unsigned>(to))) {
      case MoveResult::done:
        return s_.answer("OK");
      case MoveResult::busy:
        return s_.answer("BUSY currently processing reassign request");
      case MoveResult::no_page:
        return s_.answer("NOSPARE source class has no spare pages");
    }
  }
  if (words.count >= 3 && words[1] == "automove") {
    note_no_reply(words);
    if (words[2] == "ratio") {
      double ratio = 0;
      if (words.count < 4 || !to_number(words[3], ratio)) return s_.answer("ERROR");
      s_.context_.settings.automove_ratio = ratio;
      return s_.answer("OK");
    }
    std::uint32_t level = 0;
    if (!to_number(words[2], level)) return s_.answer("CLIENT_ERROR bad command line format");
    if (level > 2) return s_.answer("ERROR");
    s_.context_.settings.automove = level;
    return s_.answer("OK");
  }
  s_.error("ERROR");
}

void AdminCommands::lru(const Words& words) {
  if (words.count < 2) return s_.error("ERROR");
  note_no_reply(words);
  LruTuning tuning = s_.engine_.tuning();
  if (words.count >= 6 && words[1] == "tune") {
    std::uint32_t hot = 0, warm = 0;
    double hot_factor = 0, warm_factor = 0;
    if (!to_number(words[2], hot) || !to_number(words[3], warm) || !to_number(words[4], hot_factor) ||
        !to_number(words[5], warm_factor))
      return s_.answer("ERROR");
    if (std::uint64_t{hot} + warm > 80) return s_.answer("ERROR hot and warm pcts must not exceed 80");
    if (hot_factor <= 0 || warm_factor <= 0)
      return s_.answer("ERROR hot/warm age factors must be greater than 0");
    tuning.hot_share = hot / 100.0, tuning.warm_share = warm / 100.0;
    tuning.hot_factor = hot_factor, tuning.warm_factor = warm_factor;
  } else if (words.count >= 3 && words[1] == "mode" && s_.context_.settings.lru_maintainer) {
    if (words[2] != "flat" && words[2] != "segmented") return s_.answer("ERROR");
    tuning.segmented = words[2] == "segmented";
  } else if (words.count >= 3 && words[1] == "temp_ttl" && s_.context_.settings.lru_maintainer) {
    std::int32_t ttl = 0;
    if (!to_number(words[2], ttl)) return s_.answer("ERROR");
    tuning.temporary_ttl = ttl < 0 ? -1 : ttl;
  } else {
    return s_.answer("ERROR");
  }
  s_.engine_.tune(tuning);
  s_.answer("OK");
}

void AdminCommands::lru_crawler(const Words& words) {
  Service& service = s_.context_.service;
  const unsigned last = s_.engine_.sizes().last();
  const std::string_view what = words[1];
  if (words.count == 3 && what == "crawl") {
    if (!service.crawler_enabled()) return s_.error("CLIENT_ERROR lru crawler disabled");
    const std::uint64_t classes = classes_of(words[2], last, false);
    if (!classes) return s_.answer("BADCLASS invalid class id");
    return s_.answer(service.crawl(classes) ? "OK" : "BUSY currently processing crawler request");
  }
  if (words.count == 3 && (what == "metadump" || what == "mgdump")) {
    if (!service.crawler_enabled()) return s_.error("CLIENT_ERROR lru crawler disabled");
    if (!s_.context_.settings.dump)
      return s_.answer(fmt::format("ERROR {} not allowed", what == "metadump" ? what : "key dump"));
    if (s_.output_.pending())
      return s_.error(fmt::format("ERROR cannot pipeline other commands before {}", what));
    const std::uint64_t classes = classes_of(words[2], last, true);
    if (!classes) return s_.answer("BADCLASS invalid class id");
    s_.dump_kind_ = what == "metadump" ? Dump::metadump : Dump::mgdump;
    s_.dump_ = classes;
    return;
  }
  std::uint32_t number = 0;
  if (words.count == 3 && what == "sleep") {
    if (!to_number(words[2], number)) return s_.error("CLIENT_ERROR bad command line format");
    if (number > 1000000) return s_.error("CLIENT_ERROR sleep must be one second or less");
    s_.context_.settings.crawler_sleep = number;
    return s_.answer("OK");
  }
  if (words.count == 3 && what == "tocrawl") {
    if (!to_number(words[2], number)) return s_.error("CLIENT_ERROR bad command line format");
    s_.context_.settings.crawler_to_crawl = number;
    return s_.answer("OK");
  }
  if (words.count == 2 && (what == "enable" || what == "disable")) {
    const bool is_change = service.enable_crawler(what == "enable");
    return s_.answer(is_change || what == "disable" ? "OK" : "ERROR failed to start lru crawler thread");
  }
  s_.error("ERROR");
}

void AdminCommands::flush_all(const Words& words) {
  if (words.count > 3) return s_.error("ERROR");
  note_no_reply(words);
  s_.counters_.add(Count::flush_commands);
  if (!s_.context_.settings.flush) return s_.answer("CLIENT_ERROR flush_all not allowed");
  std::int32_t delay = 0;
  // With a second word that is not `noreply` the first is still the delay: what is to go later must not go
  // now.
  const bool has_delay = words.count > (s_.no_reply_ ? 2u : 1u);
  if (has_delay && !to_number(words[1], delay)) return s_.answer("CLIENT_ERROR invalid exptime argument");
  s_.engine_.flush(delay > 0 ? s_.context_.clock.expiry(delay) : s_.context_.clock.now());
  s_.answer("OK");
}

void AdminCommands::cache_memlimit(const Words& words) {
  if (words.count != 2 && words.count != 3) return s_.error("ERROR");
  note_no_reply(words);
  std::uint32_t megabytes = 0;
  if (!to_number(words[1], megabytes)) return s_.answer("ERROR");
  if (megabytes < 8) return s_.answer("MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m");
  if (megabytes > 1000000000) return s_.answer("MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes");
  const std::size_t bytes = std::size_t{megabytes} << 20;
  if (!s_.engine_.set_limit(bytes))
    return s_.answer("MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust");
  s_.context_.settings.max_bytes = bytes;
  s_.answer("OK");
}

void AdminCommands::shutdown(const Words& words) {
  if (!s_.context_.settings.shutdown_command) return s_.answer("ERROR: shutdown not enabled");
  if (words.count > 2 || (words.count == 2 && words[1] != "graceful"))
    return s_.answer("CLIENT_ERROR invalid shutdown mode");
  s_.close(Session::End::shutdown);
  s_.context_.service.end(words.count > 1);
}

// As in memcached built for debugging: `p` stops the clock, `r` lets it run, a number moves it by seconds.
void AdminCommands::debug_time(const Words& words) {
  if (!s_.context_.settings.debug_time) return s_.error("ERROR");
  std::int64_t seconds = 0;
  Clock& clock = s_.context_.clock;
  if (words[1] == "p" || words[1] == "r")
    clock.pause(words[1] == "p");
  else if (to_number(words[1], seconds))
    clock.move(seconds);
  else
    return s_.error("ERROR");
  s_.answer("OK");
}

// As in memcached built for debugging: what a server never does, and cannot do with -o drop_privileges.
void AdminCommands::misbehave(const Words&) {
  if (!s_.context_.settings.misbehave) return s_.error("ERROR");
  s_.answer(cached::misbehave() ? "ERROR" : "OK");
}

void AdminCommands::refresh_certs(const Words& words) {
  if (missing_for_tls()) return s_.error("ERROR");
  note_no_reply(words);
  const std::string error = s_.context_.service.refresh_certificates();
  if (error.empty()) return s_.answer("OK");
  s_.error(error);
}

void AdminCommands::watch(const Words& words) {
  note_no_reply(words);
  if (!s_.context_.settings.watch) return s_.answer("CLIENT_ERROR watch commands not allowed");
  if (s_.output_.pending()) return s_.answer("ERROR cannot pipeline other commands before watch");
  constexpr std::pair<std::string_view, EventLog::Kind> kKinds[] = {
      {"fetchers", EventLog::kFetchers},   {"mutations", EventLog::kMutations},
      {"evictions", EventLog::kEvictions}, {"connevents", EventLog::kConnections},
      {"rawcmds", EventLog::kSilent},      {"proxyreqs", EventLog::kSilent},
      {"proxyevents", EventLog::kSilent},  {"proxyuser", EventLog::kSilent}};
  unsigned kinds = words.count > 1 ? 0 : static_cast<unsigned>(EventLog::kFetchers);
  for (unsigned n = 1; n < words.count; ++n) {
    const auto found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                    [&](const auto& kind) { return kind.first == words[n]; });
    if (found == std::end(kKinds)) return s_.answer("ERROR");
    kinds |= found->second;
  }
  s_.watch_ = static_cast<std::uint8_t>(kinds);  // the connection does the rest
}

}  // namespace rubato::cached
