// The options behind -o, under memcached's names (T80), Rubato's own, and those of memcached that are refused
// (T81).
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "cached/discipline/disciplines.hpp"
#include "cached/options/rows.hpp"
#include "cached/options/values.hpp"
#include "cached/privileges/privileges.hpp"

namespace rubato::cached {
namespace {

void set_old_defaults(Settings& s) {
  s.lru_crawler = s.lru_maintainer = s.lru.segmented = s.slab_reassign = s.maxconns_fast = false;
  s.automove = 0, s.hash = "jenkins", s.slab_chunk_max = kPageSize;
}

bool set_hash(Settings& s, std::string_view word) { return hash_named(word) && (s.hash = word, true); }

bool set_discipline(Settings& s, std::string_view word) {
  return find_discipline(word) && (s.discipline = word, true);
}

bool set_key_format(Settings& s, std::string_view word) {
  const bool is_der = word == "2" || word == "DER";
  if (!is_der && word != "1" && word != "PEM") return false;
  s.tls.keyformat = is_der ? 2 : 1;
  return true;
}

void set_slab_sizes(Settings& s, std::string_view list) {
  s.slab_sizes.clear();
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find('-', at), list.size());
    const auto size = number<std::size_t>("slab_sizes", list.substr(at, end - at), 96, kPageSize);
    if (!s.slab_sizes.empty() && size < s.slab_sizes.back() + 8)
      throw UsageError("slab_sizes must grow by 8 bytes at least, and {} follows {}", size,
                       s.slab_sizes.back());
    s.slab_sizes.push_back(size);
    at = end + 1;
  }
  if (s.slab_sizes.size() > SlabSizes::kMostListed)
    throw UsageError("slab_sizes are {} sizes at most, not {}", SlabSizes::kMostListed, s.slab_sizes.size());
}

std::string in_percent(double share) { return fmt::format("{}", static_cast<int>(share * 100 + 0.5)); }

/// memcached shows 61 if there are no temporary items.
std::string show_temporary_ttl(const InForce& now) {
  return fmt::format("{}", now.lru.temporary_ttl >= 0 ? now.lru.temporary_ttl : 61);
}

/// OpenSSL's numbers of the modes, which memcached shows.
std::string show_verify_mode(const InForce& now) {
  constexpr unsigned kFlags[] = {0, 1, 3, 7};
  return fmt::format("{}", kFlags[now.settings.tls.verify_mode]);
}

constexpr Option kExtended[] = {
    {.name = "maxconns_fast",
     .group = Group::connections,
     .value = takes::Nothing{on<&Settings::maxconns_fast>},
     .usual = "on",
     .help = "answer an error to connections beyond -c, and close them",
     .shown = {"maxconns_fast", show<&Settings::maxconns_fast>}},
    {.name = "no_maxconns_fast",
     .group = Group::connections,
     .value = takes::Nothing{off<&Settings::maxconns_fast>},
     .help = "accept connections beyond -c later"},
    {.name = "idle_timeout",
     .group = Group::connections,
     .value =
         takes::Number<int>{
             -1, 1 << 30, [](Settings& s, int n) { s.idle_timeout = static_cast<unsigned>(std::max(n, 0)); }},
     .placeholder = "N",
     .usual = "0",
     .help = "seconds until a connection without requests is closed; 0 and -1: never",
     .shown = {"idle_timeout", show<&Settings::idle_timeout>}},
    {.name = "read_buf_mem_limit",
     .group = Group::connections,
     .value =
         takes::Number<unsigned>{0, 1u << 20,
                                 [](Settings& s, unsigned n) { s.read_buffer_limit = std::size_t{n} << 20; }},
     .placeholder = "MB",
     .usual = "0",
     .help = "memory for read buffers, in megabytes",
     .no_effect = "each thread has one read buffer",
     .shown = {"read_buf_mem_limit", show<&Settings::read_buffer_limit>}},
    {.name = "resp_obj_mem_limit",
     .group = Group::connections,
     .value = takes::Anything{},
     .help = "memory for answers",
     .no_effect = "answers need no objects"},
    {.name = "inline_ascii_resp",
     .group = Group::connections,
     .value = takes::Nothing{on<&Settings::inline_ascii>},
     .help = "keep the first line of answers in items",
     .no_effect = "it is made for each answer",
     .shown = {"inline_ascii_response", show<&Settings::inline_ascii>}},
    {.name = "no_inline_ascii_resp",
     .group = Group::connections,
     .value = takes::Nothing{off<&Settings::inline_ascii>},
     .help = "do not keep it",
     .no_effect = "it is made for each answer"},
    {.name = "modern",
     .group = Group::memory,
     .value = takes::Nothing{[](Settings&) {}},
     .help = "memcached's defaults since 1.5",
     .no_effect = "they are the defaults"},
    {.name = "no_modern",
     .group = Group::memory,
     .value = takes::Nothing{set_old_defaults},
     .help = "memcached's defaults before 1.5: no crawler, maintainer, segments and moved pages; jenkins"},
    {.name = "hashpower",
     .group = Group::memory,
     .value = takes::Number<unsigned>{12u, 32u, put<&Settings::hash_power>},
     .placeholder = "N",
     .help = "size of the first table, as a power of two; 16 if it is not given",
     .shown = {"hashpower_init", show<&Settings::hash_power>}},
    {.name = "no_hashexpand",
     .group = Group::memory,
     .value = takes::Nothing{off<&Settings::may_expand>},
     .help = "the table keeps its size"},
    {.name = "hash_algorithm",
     .group = Group::memory,
     .value = takes::Word{"murmur3, jenkins or xxh3", set_hash},
     .placeholder = "NAME",
     .usual = "murmur3",
     .help = "hash function of keys: murmur3, jenkins or xxh3",
     .shown = {"hash_algorithm", show<&Settings::hash>}},
    {.name = "slab_chunk_max",
     .group = Group::memory,
     .value = takes::Bytes{1024, kPageSize, put<&Settings::slab_chunk_max>},
     .placeholder = "N",
     .usual = "512k",
     .help = "largest chunk, in bytes or with k or m; larger items are made of several",
     .shown = {"slab_chunk_max", show<&Settings::slab_chunk_max>}},
    {.name = "slab_sizes",
     .group = Group::memory,
     .value = takes::Text{set_slab_sizes},
     .placeholder = "N-N-N",
     .help = "chunk sizes of the classes, each 8 bytes larger at least, instead of -f and -n"},
    {.name = "no_chunked_items",
     .group = Group::memory,
     .value = takes::Nothing{[](Settings& s) { s.slab_chunk_max = kPageSize; }},
     .help = "an item is in one chunk, of a page at most"},
    {.name = "lru_maintainer",
     .group = Group::upkeep,
     .value = takes::Nothing{[](Settings& s) { s.lru_maintainer = s.lru.segmented = true; }},
     .usual = "on",
     .help = "LRU lists of hot, warm and cold items, and a thread that moves items between them",
     .shown = {"lru_maintainer_thread", show<&Settings::lru_maintainer>}},
    {.name = "no_lru_maintainer",
     .group = Group::upkeep,
     .value = takes::Nothing{[](Settings& s) { s.lru_maintainer = s.lru.segmented = false; }},
     .help = "one LRU list a class"},
    {.name = "hot_lru_pct",
     .group = Group::upkeep,
     .value = takes::Number<int>{1, 79, [](Settings& s, int n) { s.lru.hot_share = n / 100.0; }},
     .placeholder = "N",
     .usual = "20",
     .help = "share of a class that is hot, in percent",
     .shown = {"hot_lru_pct", [](const InForce& now) { return in_percent(now.lru.hot_share); }}},
    {.name = "warm_lru_pct",
     .group = Group::upkeep,
     .value = takes::Number<int>{1, 79, [](Settings& s, int n) { s.lru.warm_share = n / 100.0; }},
     .placeholder = "N",
     .usual = "40",
     .help = "share that is warm; both together are 80 at most",
     .shown = {"warm_lru_pct", [](const InForce& now) { return in_percent(now.lru.warm_share); }}},
    {.name = "hot_max_factor",
     .group = Group::upkeep,
     .value = takes::Number<double>{0.001, 1e9, [](Settings& s, double f) { s.lru.hot_factor = f; }},
     .placeholder = "F",
     .usual = "0.2",
     .help = "age of a hot item at most, as a factor of the age of the cold tail",
     .shown = {"hot_max_factor",
               [](const InForce& now) { return fmt::format("{:.2f}", now.lru.hot_factor); }}},
    {.name = "warm_max_factor",
     .group = Group::upkeep,
     .value = takes::Number<double>{0.001, 1e9, [](Settings& s, double f) { s.lru.warm_factor = f; }},
     .placeholder = "F",
     .usual = "2",
     .help = "age of a warm item at most, as a factor of the age of the cold tail",
     .shown = {"warm_max_factor",
               [](const InForce& now) { return fmt::format("{:.2f}", now.lru.warm_factor); }}},
    {.name = "temporary_ttl",
     .group = Group::upkeep,
     .value = takes::Number<int>{-1, 1 << 30, [](Settings& s, int n) { s.lru.temporary_ttl = n; }},
     .placeholder = "N",
     .usual = "-1",
     .help = "items with fewer seconds to live have a list of their own and are not bumped; -1: none",
     .shown = {"temporary_ttl", show_temporary_ttl}},
    {.name = "lru_crawler",
     .group = Group::upkeep,
     .value = takes::Nothing{on<&Settings::lru_crawler>},
     .usual = "on",
     .help = "a thread that frees expired items",
     .shown = {"lru_crawler", [](const InForce& now) -> std::string { return now.crawls ? "yes" : "no"; }}},
    {.name = "no_lru_crawler",
     .group = Group::upkeep,
     .value = takes::Nothing{off<&Settings::lru_crawler>},
     .help = "no such thread, until the command lru_crawler enable"},
    {.name = "lru_crawler_sleep",
     .group = Group::upkeep,
     .value = takes::Number<unsigned>{0u, 1000000u, put<&Settings::crawler_sleep>},
     .placeholder = "N",
     .usual = "100",
     .help = "microseconds between two slices of the crawler",
     .shown = {"lru_crawler_sleep", show<&Settings::crawler_sleep>}},
    {.name = "lru_crawler_tocrawl",
     .group = Group::upkeep,
     .value = takes::Number<unsigned>{0u, ~0u, put<&Settings::crawler_to_crawl>},
     .placeholder = "N",
     .usual = "0",
     .help = "items of a class that a crawl looks at; 0: all",
     .shown = {"lru_crawler_tocrawl", show<&Settings::crawler_to_crawl>}},
    {.name = "slab_reassign",
     .group = Group::upkeep,
     .value = takes::Nothing{on<&Settings::slab_reassign>},
     .usual = "on",
     .help = "pages may move between classes",
     .shown = {"slab_reassign", show<&Settings::slab_reassign>}},
    {.name = "no_slab_reassign",
     .group = Group::upkeep,
     .value = takes::Nothing{off<&Settings::slab_reassign>},
     .help = "pages stay with their class"},
    {.name = "slab_automove",
     .group = Group::upkeep,
     .value = takes::Number<unsigned>{.low = 0u, .high = 2u, .set = put<&Settings::automove>, .without = 1u},
     .placeholder = "N",
     .usual = "1",
     .help = "0: pages move on command only; 1: also to the class that goes on evicting most; 2: from its "
             "first evictions on",
     .shown = {"slab_automove", show<&Settings::automove>}},
    {.name = "no_slab_automove",
     .group = Group::upkeep,
     .value = takes::Nothing{[](Settings& s) { s.automove = 0; }},
     .help = "as slab_automove=0"},
    {.name = "slab_automove_ratio",
     .group = Group::upkeep,
     .value = takes::Number<double>{0.01, 1.0, put<&Settings::automove_ratio>},
     .placeholder = "F",
     .usual = "0.8",
     .help = "a class gets a page if the age of its oldest item is below this share of the giver's",
     .shown = {"slab_automove_ratio", show_rounded<&Settings::automove_ratio, 2>}},
    {.name = "slab_automove_window",
     .group = Group::upkeep,
     .value = takes::Number<unsigned>{3u, 1u << 20, put<&Settings::automove_window>},
     .placeholder = "N",
     .usual = "30",
     .help = "seconds that ages are averaged over",
     .no_effect = "a class is at rest after three seconds",
     .shown = {"slab_automove_window", show<&Settings::automove_window>}},
    {.name = "slab_automove_freeratio",
     .group = Group::upkeep,
     .value = takes::Number<double>{0.0, 1.0, put<&Settings::automove_freeratio>},
     .placeholder = "F",
     .usual = "0.01",
     .help = "share of memory that stays free for all classes",
     .no_effect = "a class at rest keeps two and a half pages",
     .shown = {"slab_automove_freeratio", show_rounded<&Settings::automove_freeratio, 3>}},
    {.name = "tail_repair_time",
     .group = Group::upkeep,
     .value = takes::Number<unsigned>{10u, 1u << 30, put<&Settings::tail_repair>},
     .placeholder = "N",
     .help = "seconds until an item is freed whose references were lost",
     .no_effect = "no reference is lost",
     .shown = {"tail_repair_time", show<&Settings::tail_repair>}},
    {.name = "track_sizes",
     .group = Group::reports,
     .value = takes::Nothing{on<&Settings::track_sizes>},
     .help = "stats sizes shows how many items there are of each size",
     .shown = {"track_sizes", show<&Settings::track_sizes>}},
    {.name = "watcher_logbuf_size",
     .group = Group::reports,
     .value = takes::Bytes{1, 1u << 30, [](Settings& s, std::size_t n) { s.watcher_log = n * 1024; }},
     .placeholder = "KB",
     .usual = "256",
     .help = "lines that wait for a watcher, in kilobytes",
     .shown = {"watcher_logbuf_size", show<&Settings::watcher_log>}},
    {.name = "worker_logbuf_size",
     .group = Group::reports,
     .value = takes::Bytes{1, 1u << 30, [](Settings& s, std::size_t n) { s.worker_log = n * 1024; }},
     .placeholder = "KB",
     .usual = "64",
     .help = "lines that wait in a thread, in kilobytes",
     .no_effect = "they go to the watchers at once",
     .shown = {"worker_logbuf_size", show<&Settings::worker_log>}},
    {.name = "no_drop_privileges",
     .group = Group::process,
     .value = takes::Nothing{off<&Settings::drop_privileges>},
     .help = "all system calls stay allowed",
     .is_built = &privileges_are_droppable},
    {.name = "drop_privileges",
     .group = Group::process,
     .value = takes::Nothing{[](Settings& settings) {
       require_droppable_privileges();
       settings.drop_privileges = true;
     }},
     .help = "after the start only the system calls that serving needs; any other ends the server",
     .is_built = &privileges_are_droppable,
     .shown = {"drop_privileges", show<&Settings::drop_privileges>}},
    {.name = "ssl_chain_cert",
     .group = Group::tls,
     .value = takes::Text{put<&TlsSettings::chain_cert>},
     .placeholder = "FILE",
     .help = "file of the certificates",
     .shown = {"ssl_chain_cert",
               [](const InForce& now) { return or_null(now.settings.tls.chain_cert, "(null)"); }}},
    {.name = "ssl_key",
     .group = Group::tls,
     .value = takes::Text{put<&TlsSettings::key>},
     .placeholder = "FILE",
     .help = "file of the key, if the certificates are in another one",
     .shown = {"ssl_key", [](const InForce& now) { return or_null(now.settings.tls.key, "(null)"); }}},
    {.name = "ssl_keyformat",
     .group = Group::tls,
     .value = takes::Word{"PEM (1) or DER (2)", set_key_format},
     .placeholder = "NAME",
     .usual = "PEM",
     .help = "format of the key: PEM (1) or DER (2)",
     .shown = {"ssl_keyformat", show<&TlsSettings::keyformat>}},
    {.name = "ssl_ca_cert",
     .group = Group::tls,
     .value = takes::Text{put<&TlsSettings::ca_cert>},
     .placeholder = "FILE",
     .help = "certificates of those that sign clients' certificates",
     .shown = {"ssl_ca_cert", [](const InForce& now) { return or_null(now.settings.tls.ca_cert, "NULL"); }}},
    {.name = "ssl_verify_mode",
     .group = Group::tls,
     .value = takes::Number<unsigned>{0u, 3u, put<&TlsSettings::verify_mode>},
     .placeholder = "N",
     .usual = "0",
     .help = "0: clients need no certificate; 1: a given one is verified; 2 and 3: it is required",
     .shown = {"ssl_verify_mode", show_verify_mode}},
    {.name = "ssl_min_version",
     .group = Group::tls,
     .value = takes::Number<unsigned>{0u, 3u, put<&TlsSettings::min_version>},
     .placeholder = "N",
     .usual = "2",
     .help = "the oldest version: TLS 1.0 to 1.3 as 0 to 3",
     .shown = {"ssl_min_version",
               [](const InForce& now) { return fmt::format("tlsv1.{}", now.settings.tls.min_version); }}},
    {.name = "ssl_ciphers",
     .group = Group::tls,
     .value = takes::Text{put<&TlsSettings::ciphers>},
     .placeholder = "LIST",
     .help = "ciphers of TLS 1.2 and older, instead of OpenSSL's",
     .shown = {"ssl_ciphers", [](const InForce& now) { return or_null(now.settings.tls.ciphers, "NULL"); }}},
    {.name = "ssl_session_cache",
     .group = Group::tls,
     .value = takes::Nothing{on<&TlsSettings::session_cache>},
     .help = "clients may resume sessions",
     .shown = {"ssl_session_cache", show<&TlsSettings::session_cache>}},
    {.name = "ssl_wbuf_size",
     .group = Group::tls,
     .value = takes::Number<std::size_t>{1, 1 << 20,
                                         [](Settings& s, std::size_t n) { s.tls.wbuf_size = n * 1024; }},
     .placeholder = "KB",
     .usual = "16",
     .help = "kilobytes of an answer that are put together for a send",
     .shown = {"ssl_wbuf_size", show<&TlsSettings::wbuf_size>}},
    {.name = "ssl_kernel_tls",
     .group = Group::tls,
     .value = takes::Nothing{on<&TlsSettings::kernel_tls>},
     .help = "the kernel encrypts, if it can",
     .shown = {"ssl_kernel_tls", show<&TlsSettings::kernel_tls>}},
    {.name = "discipline",
     .group = Group::own,
     .value = takes::Word{nullptr, set_discipline},
     .usual = "locks",
     .help = "how critical sections are made",
     .shown = {"discipline", [](const InForce& now) { return std::string(now.discipline); }}},
    {.name = "item_copy_max",
     .group = Group::own,
     .value = takes::Bytes{0, 1 << 20, put<&Settings::item_copy_max>},
     .placeholder = "N",
     .usual = "1024",
     .help = "values up to this size are copied to the answer; larger ones are sent from the item",
     .shown = {"item_copy_max", show<&Settings::item_copy_max>}},
    {.name = "metrics",
     .group = Group::own,
     .value = takes::Text{put<&Settings::metrics>},
     .placeholder = "ADDR",
     .help = "address of a page for Prometheus: a port of the loopback interface, or host:port"},
    {.name = "debugtime",
     .group = Group::own,
     .value = takes::Nothing{on<&Settings::debug_time>},
     .help = "the command debugtime N, for tests: the clock moves by N seconds; p stops it, r lets it run"},
    {.name = "misbehave",
     .group = Group::own,
     .value = takes::Nothing{on<&Settings::misbehave>},
     .help = "the command misbehave, for tests of drop_privileges: it opens a socket and runs a program"},
    {.name = "ext_*",
     .group = Group::refused,
     .value = takes::Refused{": there is no external storage; the cache is in memory only"},
     .help = "`-e` to keep items over a restart; there is no storage beside memory"},
    {.name = "proxy_*",
     .group = Group::refused,
     .value = takes::Refused{": there is no proxy; run mcrouter or twemproxy in front"},
     .help = "mcrouter or twemproxy in front"},
    {.name = "sock_cookie_id",
     .group = Group::refused,
     .value = takes::Refused{" is not there; mark packets by the user (-u) instead"},
     .help = "packets marked by the user of `-u`"},
};

/// `ext_*` is every name that begins so.
bool is_named(const Option& option, std::string_view name) {
  const std::string_view own = option.name;
  return own.ends_with('*') ? name.starts_with(own.substr(0, own.size() - 1)) : name == own;
}

}  // namespace

std::span<const Option> extended_options() { return kExtended; }

const Option* find_extended(std::string_view name) {
  const auto found =
      std::ranges::find_if(kExtended, [&](const Option& option) { return is_named(option, name); });
  return found == std::ranges::end(kExtended) ? nullptr : found;
}

}  // namespace rubato::cached
