// SPDX-License-Identifier: MIT
#include "cached/protocol/report.hpp"

#include "cached/options/option.hpp"
#include "cached/protocol/event_log.hpp"
#include "rubato/tm/statistics.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <map>

namespace rubato::cached {

namespace {

class Report {
 public:
  Report(Context& context, const ServerNumbers& numbers, const StatSink& sink)
      : context_(context), engine_(context.engine), numbers_(numbers), sink_(sink) {}

  void general();
  void settings();
  void transactions();
  void items();
  void slabs();
  void sizes();
  void connections();

 private:
  template <class T>
  void add(std::string_view name, const T& value) {
    sink_(name, fmt::format("{}", value));
  }
  void flag(std::string_view name, bool value) { add(name, value ? "yes" : "no"); }
  std::uint64_t sum(Count what) const {
    return sum_of([&](const ThreadCounters& counters) { return counters.get(what); });
  }
  std::uint64_t sum(unsigned slab_class, ClassCount what) const {
    return sum_of([&](const ThreadCounters& counters) { return counters.get(slab_class, what); });
  }
  std::uint64_t sum(ClassCount what) const {
    std::uint64_t total = 0;
    for (unsigned c = 0; c < kMaxClasses; ++c) total += sum(c, what);
    return total;
  }
  std::uint64_t lru_hits(unsigned id) const {
    return sum_of([&](const ThreadCounters& counters) { return counters.lru_hits[id].get(); });
  }
  template <class F>
  std::uint64_t sum_of(F&& f) const {
    std::uint64_t total = 0;
    for (const auto* list : {&numbers_.threads, &numbers_.own})
      for (const ThreadCounters* counters : *list) total += f(*counters);
    return total;
  }
  void process();
  void commands();
  void upkeep();
  void lists();

  Context& context_;
  CacheEngine& engine_;
  const ServerNumbers& numbers_;
  const StatSink& sink_;
};

void Report::general() {
  process();
  commands();
  upkeep();
  lists();
}

void Report::transactions() {
  rubato_itm_statistics_t t{};
  // Sought by its name, since GCC's library may take the place of ours: then there is nothing to count.
  using Ask = decltype(&rubato_itm_statistics);
  static const auto count = reinterpret_cast<Ask>(dlsym(RTLD_DEFAULT, "rubato_itm_statistics"));
  if (!count || count(&t, sizeof t)) return;
  add("committed", t.committed);
  add("aborted", t.aborted);
  add("start_serial", t.start_serial);
  add("in_flight_switch", t.in_flight_switch);
  add("abort_serial", t.abort_serial);
  add("memory_serial", t.memory_serial);
}

void Report::process() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return fmt::format("{}.{:06}", t.tv_sec, t.tv_usec); };
  add("pid", getpid());
  add("uptime", context_.clock.uptime());
  add("time", context_.clock.wall(context_.clock.now()));
  add("version", version_text());
  add("libevent", numbers_.libevent);
  add("pointer_size", 8 * sizeof(void*));
  add("rusage_user", seconds(usage.ru_utime));
  add("rusage_system", seconds(usage.ru_stime));
  add("max_connections", context_.settings.max_connections);
  add("curr_connections", numbers_.current);
  add("total_connections", numbers_.total);
  if (context_.settings.maxconns_fast) add("rejected_connections", numbers_.rejected);
  add("connection_structures", numbers_.current);
  add("response_obj_oom", sum(Count::response_oom));
  add("response_obj_count", numbers_.current);
  add("response_obj_bytes", 0);
  // A read buffer a thread; what has not arrived whole is kept by the connection.
  add("read_buf_count", numbers_.threads.size());
  add("read_buf_bytes", numbers_.threads.size() * (16 << 10));
  add("read_buf_bytes_free", 0);
  add("read_buf_oom", 0);
  add("reserved_fds", 5 * numbers_.threads.size());
}

void Report::commands() {
  using enum Count;
  add("cmd_get", sum(get_commands));
  add("cmd_set", sum(Count::set_commands));
  add("cmd_flush", sum(flush_commands));
  add("cmd_touch", sum(touch_commands));
  add("cmd_meta", sum(meta_commands));
  add("get_hits", sum(ClassCount::get_hits));
  add("get_misses", sum(get_misses));
  add("get_expired", sum(get_expired));
  add("get_flushed", sum(get_flushed));
  add("delete_misses", sum(delete_misses));
  add("delete_hits", sum(ClassCount::delete_hits));
  add("incr_misses", sum(incr_misses));
  add("incr_hits", sum(ClassCount::incr_hits));
  add("decr_misses", sum(decr_misses));
  add("decr_hits", sum(ClassCount::decr_hits));
  add("cas_misses", sum(cas_misses));
  add("cas_hits", sum(ClassCount::cas_hits));
  add("cas_badval", sum(ClassCount::cas_badval));
  add("touch_hits", sum(ClassCount::touch_hits));
  add("touch_misses", sum(touch_misses));
  add("store_too_large", sum(store_too_large));
  add("store_no_memory", sum(store_no_memory));
  add("auth_cmds", sum(auth_commands));
  add("auth_errors", sum(auth_errors));
  if (context_.settings.idle_timeout) add("idle_kicks", sum(idle_kicks));
  add("bytes_read", sum(bytes_read));
  add("bytes_written", sum(bytes_written));
}

void Report::upkeep() {
  const MemoryReport memory = engine_.memory();
  const MoverReport mover = engine_.mover();
  add("limit_maxbytes", memory.limit);
  add("accepting_conns", numbers_.accepting ? 1 : 0);
  add("listen_disabled_num", numbers_.disabled);
  add("time_in_listen_disabled_us", numbers_.disabled_us);
  add("threads", context_.settings.threads);
  add("conn_yields", sum(Count::yields));
  add("hash_power_level", memory.hash_power);
  add("hash_bytes", memory.hash_bytes);
  add("hash_is_expanding", memory.expanding ? 1 : 0);
  if (context_.settings.slab_reassign) {
    add("slab_reassign_rescues", mover.rescues);
    add("slab_reassign_chunk_rescues", mover.chunk_rescues);
    add("slab_reassign_evictions_nomem", mover.evictions);
    add("slab_reassign_inline_reclaim", mover.inline_reclaims);
    add("slab_reassign_busy_items", mover.busy_items);
    add("slab_reassign_busy_deletes", mover.busy_deletes);
    add("slab_reassign_running", numbers_.moving ? 1 : 0);
    add("slabs_moved", mover.pages);
  }
  if (context_.service.crawler_enabled()) {  // by an option or a command
    add("lru_crawler_running", numbers_.crawling ? 1 : 0);
    add("lru_crawler_starts", numbers_.crawls);
  }
  if (context_.settings.lru_maintainer) add("lru_maintainer_juggles", numbers_.juggles);
  add("malloc_fails", 0);
  const EventLog::Numbers log = context_.log.numbers();
  add("log_worker_dropped", 0);
  add("log_worker_written", log.written);
  add("log_watcher_skipped", log.skipped);
  add("log_watcher_sent", log.sent);
  add("log_watchers", log.watchers);
  if (context_.settings.tls.enabled) {
    if (context_.settings.tls.session_cache) add("ssl_new_sessions", numbers_.new_sessions);
    add("ssl_handshake_errors", sum(Count::handshake_errors));
    add("time_since_server_cert_refresh", numbers_.certificates_age);
  }
  add("unexpected_napi_ids", 0);
  add("round_robin_fallback", 0);
  add("slab_global_page_pool", memory.pool_pages);
}

void Report::lists() {
  std::uint64_t bytes = 0, items = 0;
  LruStatistics all;
  for (unsigned id = 0; id < 256; ++id) {
    if ((id & kClassMask) == 0 || (id & kClassMask) > engine_.sizes().last()) continue;
    const Lru::List list = engine_.lru(id);
    const LruStatistics& s = list.statistics;
    bytes += list.bytes, items += list.items;
    all.expired_unfetched += s.expired_unfetched, all.evicted_unfetched += s.evicted_unfetched;
    all.evicted_active += s.evicted_active, all.evicted += s.evicted, all.reclaimed += s.reclaimed;
    all.crawler_reclaimed += s.crawler_reclaimed, all.crawler_checked += s.crawler_checked;
    all.tail_locked += s.tail_locked, all.moves_to_cold += s.moves_to_cold,
        all.moves_to_warm += s.moves_to_warm;
    all.moves_within += s.moves_within, all.direct_reclaims += s.direct_reclaims;
  }
  add("bytes", bytes);
  add("curr_items", items);
  add("total_items", sum(Count::total_items));
  add("expired_unfetched", all.expired_unfetched);
  add("evicted_unfetched", all.evicted_unfetched);
  const bool maintained = context_.settings.lru_maintainer;
  if (maintained) add("evicted_active", all.evicted_active);
  add("evictions", all.evicted);
  add("reclaimed", all.reclaimed);
  add("crawler_reclaimed", all.crawler_reclaimed);
  add("crawler_items_checked", all.crawler_checked);
  add("lrutail_reflocked", all.tail_locked);
  if (!maintained) return;
  add("moves_to_cold", all.moves_to_cold);
  add("moves_to_warm", all.moves_to_warm);
  add("moves_within_lru", all.moves_within);
  add("direct_reclaims", all.direct_reclaims);
  add("lru_bumps_dropped", 0);
}

void Report::settings() {
  const InForce now{context_.settings, engine_.tuning(), engine_.memory().limit,
                    context_.service.crawler_enabled(), engine_.discipline()};
  for (const auto options : {options_by_letter(), extended_options()})
    for (const Option& option : options)
      if (option.shown.name && !missing_for(option)) add(option.shown.name, option.shown.text(now));
  // Lines that belong to no option.
  add("oldest", 0);
  add("num_threads_per_udp", context_.settings.threads);
  flag("detail_enabled", context_.settings.detail);
  flag("lru_segmented", now.lru.segmented);
  flag("temp_lru", now.lru.temporary_ttl >= 0);
  add("rubato_version", own_version());
}

void Report::items() {
  const bool segmented = engine_.tuning().segmented;
  for (unsigned c = 1; c <= engine_.sizes().last(); ++c) {
    const Lru::List hot = engine_.lru(c | kHot), warm = engine_.lru(c | kWarm), cold = engine_.lru(c | kCold),
                    temporary = engine_.lru(c | kTemporary);
    const std::uint64_t items = hot.items + warm.items + cold.items + temporary.items;
    if (!items) continue;
    const auto one = [&](std::string_view name, std::uint64_t value) {
      add(fmt::format("items:{}:{}", c, name), value);
    };
    const auto total = [&](std::string_view name, std::uint64_t LruStatistics::*field) {
      one(name, hot.statistics.*field + warm.statistics.*field + cold.statistics.*field +
                    temporary.statistics.*field);
    };
    one("number", items);
    if (segmented) {
      one("number_hot", hot.items);
      one("number_warm", warm.items);
      one("number_cold", cold.items);
      if (engine_.tuning().temporary_ttl >= 0) one("number_temp", temporary.items);
      one("age_hot", engine_.tail_age(c | kHot));
      one("age_warm", engine_.tail_age(c | kWarm));
    }
    one("age", engine_.tail_age(c | kCold));
    one("mem_requested", hot.bytes + warm.bytes + cold.bytes + temporary.bytes);
    total("evicted", &LruStatistics::evicted);
    total("evicted_nonzero", &LruStatistics::evicted_nonzero);
    one("evicted_time", cold.statistics.evicted_time);
    one("outofmemory", hot.statistics.out_of_memory);
    total("tailrepairs", &LruStatistics::tail_repairs);
    total("reclaimed", &LruStatistics::reclaimed);
    total("expired_unfetched", &LruStatistics::expired_unfetched);
    total("evicted_unfetched", &LruStatistics::evicted_unfetched);
    if (segmented) total("evicted_active", &LruStatistics::evicted_active);
    total("crawler_reclaimed", &LruStatistics::crawler_reclaimed);
    total("crawler_items_checked", &LruStatistics::crawler_checked);
    total("lrutail_reflocked", &LruStatistics::tail_locked);
    if (!segmented) continue;
    total("moves_to_cold", &LruStatistics::moves_to_cold);
    total("moves_to_warm", &LruStatistics::moves_to_warm);
    total("moves_within_lru", &LruStatistics::moves_within);
    total("direct_reclaims", &LruStatistics::direct_reclaims);
    one("hits_to_hot", lru_hits(c | kHot));
    one("hits_to_warm", lru_hits(c | kWarm));
    one("hits_to_cold", lru_hits(c | kCold));
    one("hits_to_temp", lru_hits(c | kTemporary));
  }
}

void Report::slabs() {
  unsigned active = 0;
  for (unsigned c = 1; c <= engine_.sizes().last(); ++c) {
    const ClassReport k = engine_.slab_class(c);
    if (!k.pages) continue;
    ++active;
    const auto one = [&](std::string_view name, std::uint64_t value) {
      add(fmt::format("{}:{}", c, name), value);
    };
    one("chunk_size", k.chunk_size);
    one("chunks_per_page", k.chunks_per_page);
    one("total_pages", k.pages);
    one("total_chunks", k.pages * k.chunks_per_page);
    one("used_chunks", k.used_chunks);
    one("free_chunks", k.free_chunks);
    one("free_chunks_end", 0);
    one("get_hits", sum(c, ClassCount::get_hits));
    one("cmd_set", sum(c, ClassCount::set_commands));
    one("delete_hits", sum(c, ClassCount::delete_hits));
    one("incr_hits", sum(c, ClassCount::incr_hits));
    one("decr_hits", sum(c, ClassCount::decr_hits));
    one("cas_hits", sum(c, ClassCount::cas_hits));
    one("cas_badval", sum(c, ClassCount::cas_badval));
    one("touch_hits", sum(c, ClassCount::touch_hits));
  }
  add("active_slabs", active);
  add("total_malloced", engine_.memory().allocated);
}

// Sizes are counted when asked for, by a walk over the table in slices.
void Report::sizes() {
  if (!context_.settings.track_sizes) return add("sizes_status", "disabled");
  std::map<std::size_t, std::uint64_t> histogram;
  std::uint64_t position = 0;
  do {
    position = engine_.crawl(position, ~std::uint64_t{0}, [&](const ItemReport& report) {
      ++histogram[(report.item->total() + 31) / 32 * 32];
    });
  } while (position);
  for (const auto& [size, number] : histogram) add(fmt::format("{}", size), number);
}

void Report::connections() {
  for (const ConnectionReport& connection : numbers_.connections) {
    const auto one = [&](std::string_view name, const auto& value) {
      add(fmt::format("{}:{}", connection.descriptor, name), value);
    };
    one("addr", connection.address);
    if (!connection.listens_on.empty()) one("listen_addr", connection.listens_on);
    one("state", connection.state);
    one("secs_since_last_cmd", connection.idle);
  }
}

}  // namespace

bool report_statistics(std::string_view group, Context& context, const ServerNumbers& numbers,
                       const StatSink& sink) {
  Report report(context, numbers, sink);
  if (group.empty()) return report.general(), true;
  if (group == "settings") return report.settings(), true;
  if (group == "items") return report.items(), true;
  if (group == "slabs") return report.slabs(), true;
  if (group == "sizes") return report.sizes(), true;
  if (is_switch_of_sizes(group)) {
    context.settings.track_sizes = group == "sizes_enable";
    sink("sizes_status", context.settings.track_sizes ? "enabled" : "disabled");
    return true;
  }
  if (group == "transactions") return report.transactions(), true;
  if (group == "conns") return report.connections(), true;
  return false;
}

}  // namespace rubato::cached
