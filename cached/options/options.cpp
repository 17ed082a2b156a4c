// The command line, as memcached reads it (T80), and sentences for what is not there (T81).
// SPDX-License-Identifier: MIT
#include <getopt.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "cached/discipline/disciplines.hpp"
#include "cached/options/settings.hpp"

namespace rubato::cached {

const char* version_text() { return "1.6.18-rubato"; }
const char* own_version() { return RUBATO_CACHED_VERSION; }

EngineOptions Settings::engine() const {
  EngineOptions options;
  options.limit = max_bytes;
  options.item_size_max = item_size_max;
  options.sizes = slab_sizes.empty() ? SlabSizes(factor, sizeof(Item) + chunk_size, slab_chunk_max)
                                     : SlabSizes(slab_sizes, slab_chunk_max);
  options.preallocate = preallocate, options.cas = cas, options.evict = evict,
  options.may_expand = may_expand;
  if (hash_power) options.hash_power = hash_power;
  options.hash = hash_named(hash);
  options.threads = threads;
  options.lru = lru;
  return options;
}

namespace {

template <class N>
N number(std::string_view option, std::string_view text, N low, N high) {
  N value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high)
    throw UsageError("{} takes a number from {} to {}, not '{}'", option, low, high, text);
  return value;
}

/// Bytes with an optional k or m.
std::size_t size_of(std::string_view option, std::string_view text, std::size_t low, std::size_t high) {
  std::size_t unit = 1;
  std::string_view digits = text;
  if (!digits.empty() && (digits.back() | 32) == 'k')
    unit = 1024, digits.remove_suffix(1);
  else if (!digits.empty() && (digits.back() | 32) == 'm')
    unit = 1 << 20, digits.remove_suffix(1);
  const std::size_t value = number<std::size_t>(option, digits, 0, high) * unit;
  if (value < low || value > high)
    throw UsageError("{} takes {} to {} bytes, not '{}'", option, low, high, text);
  return value;
}

using Reader = void (*)(Settings&, std::string_view option, std::string_view value);
enum class Value : std::uint8_t { none, optional, needed };
struct Suboption {
  Value value;
  Reader read;
};

const std::map<std::string_view, Suboption>& suboptions() {
  static const std::map<std::string_view, Suboption> table{
      {"maxconns_fast", {Value::none, [](auto& s, auto, auto) { s.maxconns_fast = true; }}},
      {"no_maxconns_fast", {Value::none, [](auto& s, auto, auto) { s.maxconns_fast = false; }}},
      {"hashpower", {Value::needed, [](auto& s, auto o, auto v) { s.hash_power = number(o, v, 12u, 32u); }}},
      {"no_hashexpand", {Value::none, [](auto& s, auto, auto) { s.may_expand = false; }}},
      {"tail_repair_time",
       {Value::needed, [](auto& s, auto o, auto v) { s.tail_repair = number(o, v, 10u, 1u << 30); }}},
      {"hash_algorithm",
       {Value::needed,
        [](auto& s, auto, auto v) {
          if (!hash_named(v)) throw UsageError("hash_algorithm is murmur3, jenkins or xxh3, not '{}'", v);
          s.hash = v;
        }}},
      {"lru_crawler", {Value::none, [](auto& s, auto, auto) { s.lru_crawler = true; }}},
      {"no_lru_crawler", {Value::none, [](auto& s, auto, auto) { s.lru_crawler = false; }}},
      {"lru_crawler_sleep",
       {Value::needed, [](auto& s, auto o, auto v) { s.crawler_sleep = number(o, v, 0u, 1000000u); }}},
      {"lru_crawler_tocrawl",
       {Value::needed, [](auto& s, auto o, auto v) { s.crawler_to_crawl = number(o, v, 0u, ~0u); }}},
      {"lru_maintainer",
       {Value::none, [](auto& s, auto, auto) { s.lru_maintainer = s.lru.segmented = true; }}},
      {"no_lru_maintainer",
       {Value::none, [](auto& s, auto, auto) { s.lru_maintainer = s.lru.segmented = false; }}},
      {"hot_lru_pct",
       {Value::needed, [](auto& s, auto o, auto v) { s.lru.hot_share = number(o, v, 1, 79) / 100.0; }}},
      {"warm_lru_pct",
       {Value::needed, [](auto& s, auto o, auto v) { s.lru.warm_share = number(o, v, 1, 79) / 100.0; }}},
      {"hot_max_factor",
       {Value::needed, [](auto& s, auto o, auto v) { s.lru.hot_factor = number(o, v, 0.001, 1e9); }}},
      {"warm_max_factor",
       {Value::needed, [](auto& s, auto o, auto v) { s.lru.warm_factor = number(o, v, 0.001, 1e9); }}},
      {"temporary_ttl",
       {Value::needed, [](auto& s, auto o, auto v) { s.lru.temporary_ttl = number(o, v, -1, 1 << 30); }}},
      {"idle_timeout",
       {Value::needed,
        [](auto& s, auto o, auto v) {
          s.idle_timeout = static_cast<unsigned>(std::max(number(o, v, -1, 1 << 30), 0));  // -1: never, too
        }}},
      {"read_buf_mem_limit",
       {Value::needed, [](auto& s, auto o,
                          auto v) { s.read_buffer_limit = std::size_t{number(o, v, 0u, 1u << 20)} << 20; }}},
      {"resp_obj_mem_limit", {Value::optional, [](auto&, auto, auto) {}}},  // as in memcached, which has none
      {"slab_chunk_max",
       {Value::needed, [](auto& s, auto o, auto v) { s.slab_chunk_max = size_of(o, v, 1024, kPageSize); }}},
      {"slab_sizes",
       {Value::needed,
        [](auto& s, auto o, auto v) {
          s.slab_sizes.clear();
          for (std::size_t at = 0; at <= v.size();) {
            const std::size_t end = std::min(v.find('-', at), v.size());
            const auto size = number<std::size_t>(o, v.substr(at, end - at), 96, kPageSize);
            if (!s.slab_sizes.empty() && size < s.slab_sizes.back() + 8)
              throw UsageError("slab_sizes must grow by 8 bytes at least, and {} follows {}", size,
                               s.slab_sizes.back());
            s.slab_sizes.push_back(size);
            at = end + 1;
          }
        }}},
      {"slab_reassign", {Value::none, [](auto& s, auto, auto) { s.slab_reassign = true; }}},
      {"no_slab_reassign", {Value::none, [](auto& s, auto, auto) { s.slab_reassign = false; }}},
      {"slab_automove",
       {Value::optional,
        [](auto& s, auto o, auto v) { s.automove = v.empty() ? 1u : number(o, v, 0u, 2u); }}},
      {"no_slab_automove", {Value::none, [](auto& s, auto, auto) { s.automove = 0; }}},
      {"slab_automove_ratio",
       {Value::needed, [](auto& s, auto o, auto v) { s.automove_ratio = number(o, v, 0.01, 1.0); }}},
      {"slab_automove_window",
       {Value::needed, [](auto& s, auto o, auto v) { s.automove_window = number(o, v, 3u, 1u << 20); }}},
      {"slab_automove_freeratio",
       {Value::needed, [](auto& s, auto o, auto v) { s.automove_freeratio = number(o, v, 0.0, 1.0); }}},
      {"no_chunked_items", {Value::none, [](auto& s, auto, auto) { s.slab_chunk_max = kPageSize; }}},
      {"track_sizes", {Value::none, [](auto& s, auto, auto) { s.track_sizes = true; }}},
      {"watcher_logbuf_size",
       {Value::needed, [](auto& s, auto o, auto v) { s.watcher_log = size_of(o, v, 1, 1u << 30) * 1024; }}},
      {"worker_logbuf_size",
       {Value::needed, [](auto& s, auto o, auto v) { s.worker_log = size_of(o, v, 1, 1u << 30) * 1024; }}},
      {"inline_ascii_resp", {Value::none, [](auto& s, auto, auto) { s.inline_ascii = true; }}},
      {"no_inline_ascii_resp", {Value::none, [](auto& s, auto, auto) { s.inline_ascii = false; }}},
      {"modern", {Value::none, [](auto&, auto, auto) {}}},  // the defaults since 1.5
      {"no_modern",
       {Value::none,
        [](auto& s, auto, auto) {
          s.lru_crawler = s.lru_maintainer = s.lru.segmented = s.slab_reassign = s.maxconns_fast = false;
          s.automove = 0, s.hash = "jenkins", s.slab_chunk_max = kPageSize;
        }}},
      {"no_drop_privileges", {Value::none, [](auto&, auto, auto) {}}},  // none are dropped
      {"debugtime", {Value::none, [](auto& s, auto, auto) { s.debug_time = true; }}},
      {"item_copy_max",
       {Value::needed, [](auto& s, auto o, auto v) { s.item_copy_max = size_of(o, v, 0, 1 << 20); }}},
      {"ssl_chain_cert", {Value::needed, [](auto& s, auto, auto v) { s.tls.chain_cert = v; }}},
      {"ssl_key", {Value::needed, [](auto& s, auto, auto v) { s.tls.key = v; }}},
      {"ssl_verify_mode",
       {Value::needed, [](auto& s, auto o, auto v) { s.tls.verify_mode = number(o, v, 0u, 3u); }}},
      {"ssl_keyformat",
       {Value::needed,
        [](auto& s, auto, auto v) {
          if (v != "1" && v != "2" && v != "PEM" && v != "DER")
            throw UsageError("ssl_keyformat is PEM (1) or DER (2), not '{}'", v);
          s.tls.keyformat = v == "2" || v == "DER" ? 2 : 1;
        }}},
      {"ssl_ciphers", {Value::needed, [](auto& s, auto, auto v) { s.tls.ciphers = v; }}},
      {"ssl_ca_cert", {Value::needed, [](auto& s, auto, auto v) { s.tls.ca_cert = v; }}},
      {"ssl_wbuf_size",
       {Value::needed,
        [](auto& s, auto o, auto v) { s.tls.wbuf_size = number<std::size_t>(o, v, 1, 1 << 20) * 1024; }}},
      {"ssl_session_cache", {Value::none, [](auto& s, auto, auto) { s.tls.session_cache = true; }}},
      {"ssl_kernel_tls", {Value::none, [](auto& s, auto, auto) { s.tls.kernel_tls = true; }}},
      {"ssl_min_version",
       {Value::needed, [](auto& s, auto o, auto v) { s.tls.min_version = number(o, v, 0u, 3u); }}},
      {"metrics", {Value::needed, [](auto& s, auto, auto v) { s.metrics = v; }}},
      {"discipline",
       {Value::needed,
        [](auto& s, auto, auto v) {
          if (!find_discipline(v))
            throw UsageError("discipline is {}, not '{}'", discipline_names(" or "), v);
          s.discipline = v;
        }}},
  };
  return table;
}

void read_suboptions(Settings& settings, std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view one = text.substr(at, end - at);
    at = end + 1;
    if (one.empty()) continue;
    const std::size_t equals = one.find('=');
    const std::string_view name = one.substr(0, equals);
    const std::string_view value = equals == one.npos ? std::string_view{} : one.substr(equals + 1);
    const auto starts = [&](std::string_view with) { return name.substr(0, with.size()) == with; };
    if (starts("ext_"))
      throw UsageError("-o {}: there is no external storage; the cache is in memory only", name);
    if (starts("ssl_") && !tls_is_built()) make_tls_server({});  // says what is missing
    if (starts("proxy_"))
      throw UsageError("-o {}: there is no proxy; run mcrouter or twemproxy in front", name);
    if (name == "drop_privileges")
      throw UsageError(
          "-o drop_privileges is not there; use the sandbox of systemd (the unit that is installed does)");
    if (name == "sock_cookie_id")
      throw UsageError("-o sock_cookie_id is not there; mark packets by the user (-u) instead");
    const auto found = suboptions().find(name);
    if (found == suboptions().end())
      throw UsageError("-o {} is not known; rubato-cached -h lists what is", name);
    if (found->second.value == Value::needed && value.empty())
      throw UsageError("-o {} needs a value, as {}=...", name, name);
    // memcached reads no value there, so that 0 would switch it on.
    if (found->second.value == Value::none && !value.empty() && value != "1") {
      const std::string opposite = starts("no_") ? std::string(name.substr(3)) : "no_" + std::string(name);
      throw UsageError("-o {} takes no value{}", name,
                       suboptions().count(opposite) ? "; its opposite is " + opposite : std::string());
    }
    found->second.read(settings, name, value);
  }
}

struct Option {
  char letter;
  const char* name;  ///< its long form, null: none
  Value value;
  const char* help;  ///< its lines of the help, null: none
  Reader read;       ///< null: read_options() does it
};

constexpr Reader kListens = [](Settings& s, std::string_view, std::string_view value) {
  s.inter = value;
  for (std::size_t at = 0; at < value.size();) {
    const std::size_t end = std::min(value.find_first_of(",;", at), value.size());
    s.addresses.emplace_back(value.substr(at, end - at));
    at = end + 1;
  }
};
constexpr Reader kBinds = [](Settings& s, std::string_view, std::string_view value) {
  if (value == "auto")
    s.binding = Binding::automatic;
  else if (value == "ascii")
    s.binding = Binding::ascii;
  else if (value == "binary")
    s.binding = Binding::binary;
  else
    throw UsageError("-B is auto, ascii or binary, not '{}'", value);
};

/// The options behind a dash, in the order of the help.
constexpr Option kOptions[] = {
    {'p', "port", Value::needed, "  -p, --port=N             TCP port (11211; 0: none, -1: any)\n",
     [](auto& s, auto o, auto v) { s.port = number(o, v, -1, 65535); }},
    {'s', "unix-socket", Value::needed,
     "  -s, --unix-socket=FILE   listen on a socket in the file system, and on no port\n",
     [](auto& s, auto, auto v) { s.socket = v; }},
    {'a', "unix-mask", Value::needed, "  -a, --unix-mask=MASK     its access mask, octal (0700)\n",
     [](auto& s, auto, auto v) {
       s.socket_mask = static_cast<unsigned>(std::strtoul(std::string(v).c_str(), nullptr, 8));
     }},
    {'A', "enable-shutdown", Value::none, "  -A, --enable-shutdown    allow the command shutdown\n",
     [](auto& s, auto, auto) { s.shutdown_command = true; }},
    {'l', "listen", Value::needed,
     "  -l, --listen=ADDR        addresses to listen on, separated by commas (all);\n"
     "                           notls:ADDR without TLS in spite of -Z\n",
     kListens},
    {'d', "daemon", Value::none, "  -d, --daemon             run in the background\n",
     [](auto& s, auto, auto) { s.daemon = true; }},
    {'r', "enable-coredumps", Value::none, "  -r, --enable-coredumps   no limit for core dumps\n",
     [](auto& s, auto, auto) { s.core_dumps = true; }},
    {'u', "user", Value::needed, "  -u, --user=NAME          the user to become; needed for root\n",
     [](auto& s, auto, auto v) { s.user = v; }},
    {'m', "memory-limit", Value::needed, "  -m, --memory-limit=MB    memory for items (64)\n",
     [](auto& s, auto o, auto v) {
       // As 64m, too, which memcached takes for 64; a g it would take for megabytes.
       const bool has_unit = !v.empty() && (v.back() | 32) == 'm';
       s.max_bytes = number<std::size_t>(o, v.substr(0, v.size() - has_unit), 1, 1 << 24) << 20;
     }},
    {'M', "disable-evictions", Value::none,
     "  -M, --disable-evictions  answer an error when memory is full\n",
     [](auto& s, auto, auto) { s.evict = false; }},
    {'c', "conn-limit", Value::needed, "  -c, --conn-limit=N       connections (1024)\n",
     [](auto& s, auto o, auto v) { s.max_connections = number(o, v, 1, 10000000); }},
    {'k', "lock-memory", Value::none, "  -k, --lock-memory        keep all memory resident\n",
     [](auto& s, auto, auto) { s.lock_memory = true; }},
    {'v', "verbose", Value::none, "  -v, -vv, -vvv            say more on standard error\n",
     [](auto& s, auto, auto) { ++s.verbosity; }},
    {'h', "help", Value::none, "  -h, -i, -V               this help; the licence; the version\n", nullptr},
    {'i', "license", Value::none, nullptr, nullptr},
    {'V', "version", Value::none, nullptr, nullptr},
    {'P', "pidfile", Value::needed, "  -P, --pidfile=FILE       write the process id there\n",
     [](auto& s, auto, auto v) { s.pid_file = v; }},
    {'f', "slab-growth-factor", Value::needed,
     "  -f, --slab-growth-factor=F  from one chunk size to the next (1.25)\n",
     [](auto& s, auto o, auto v) {
       s.factor = number(o, v, 1.0, 100.0);
       if (s.factor <= 1.0) throw UsageError("-f takes a factor above 1, not '{}'", v);
     }},
    {'n', "slab-min-size", Value::needed,
     "  -n, --slab-min-size=N    smallest room for key, value and flags (48)\n",
     [](auto& s, auto o, auto v) { s.chunk_size = number<std::size_t>(o, v, 1, kPageSize / 2 - 48); }},
    {'L', "enable-largepages", Value::none, "  -L, --enable-largepages  a page for every class at start\n",
     [](auto& s, auto, auto) { s.preallocate = true; }},
    {'D', nullptr, Value::needed,
     "  -D CHAR                  delimiter of key prefixes for stats detail (:)\n",
     [](auto& s, auto, auto v) {
       s.prefix_delimiter = v.empty() ? ':' : v[0];
       s.detail = true;
     }},
    {'t', "threads", Value::needed, "  -t, --threads=N          threads that serve (4)\n",
     [](auto& s, auto o, auto v) { s.threads = number(o, v, 1u, 1024u); }},
    {'R', "max-reqs-per-event", Value::needed,
     "  -R, --max-reqs-per-event=N  requests before another connection has its turn (20)\n",
     [](auto& s, auto o, auto v) { s.requests_per_event = number(o, v, 1, 1 << 30); }},
    {'C', "disable-cas", Value::none, "  -C, --disable-cas        items without unique\n",
     [](auto& s, auto, auto) { s.cas = false; }},
    {'b', "listen-backlog", Value::needed, "  -b, --listen-backlog=N   (1024)\n",
     [](auto& s, auto o, auto v) { s.backlog = number(o, v, 1, 1 << 30); }},
    {'B', "protocol", Value::needed, "  -B, --protocol=NAME      auto, ascii or binary (auto)\n", kBinds},
    {'I', "max-item-size", Value::needed, "  -I, --max-item-size=N    with k or m; 1k to 1024m (1m)\n",
     [](auto& s, auto o, auto v) { s.item_size_max = size_of(o, v, 1024, std::size_t{1} << 30); }},
    {'F', "disable-flush-all", Value::none, "  -F -X -W                 refuse flush_all; dumps; watch\n",
     [](auto& s, auto, auto) { s.flush = false; }},
    {'X', "disable-dumping", Value::none, nullptr, [](auto& s, auto, auto) { s.dump = false; }},
    {'W', "disable-watch", Value::none, nullptr, [](auto& s, auto, auto) { s.watch = false; }},
    {'Y', "auth-file", Value::needed,
     "  -Y, --auth-file=FILE     lines user:password; text connections must log in\n",
     [](auto& s, auto, auto v) { s.auth_file = v; }},
    {'Z', "enable-ssl", Value::none,
     "  -Z, --enable-ssl         TLS on every TCP port; needs -o ssl_chain_cert\n",
     [](auto& s, auto, auto) { s.tls.enabled = true; }},
    {'o', "extended", Value::needed, "  -o, --extended=LIST      further options, separated by commas:\n",
     [](auto& s, auto, auto v) { read_suboptions(s, v); }},
    // Options of memcached that are refused.
    {'U', "udp-port", Value::needed, nullptr,
     [](auto&, auto o, auto v) {
       if (number(o, v, 0, 65535))
         throw UsageError("-U {}: there is no UDP, which memcached has switched off since 1.5.6; use TCP", v);
     }},
    {'S', "enable-sasl", Value::none, nullptr,
     [](auto&, auto, auto) {
       throw UsageError("-S: there is no SASL; use -Y with a file of users and passwords");
     }},
    {'e', "memory-file", Value::needed, nullptr,
     [](auto&, auto, auto) {
       throw UsageError("-e: there is no file to restart from; items do not outlive the process");
     }},
    {'N', "napi-ids", Value::needed, nullptr,
     [](auto&, auto, auto) {
       throw UsageError("-N: connections are not spread by NAPI ids; they are handed out in turn");
     }},
};

void print_help() {
  std::printf("rubato-cached %s: a cache that takes the place of memcached %s\n", own_version(),
              version_text());
  for (const Option& option : kOptions)
    if (option.help != nullptr && (option.letter != 'Z' || tls_is_built())) std::fputs(option.help, stdout);
  for (const auto& [name, suboption] : suboptions()) {
    if (name == "no_drop_privileges") continue;  // taken, and does nothing, as there is no opposite
    if (name.substr(0, 4) == "ssl_" && !tls_is_built()) continue;
    std::printf("     %.*s%s\n", static_cast<int>(name.size()), name.data(),
                suboption.value == Value::needed     ? "=VALUE"
                : suboption.value == Value::optional ? "[=VALUE]"
                                                     : "");
  }
  std::printf("     VALUE of discipline: %s (%s)\n", discipline_names(", ").c_str(),
              disciplines().front().name.data());
}

/// The form of kOptions that getopt_long() takes.
struct Known {
  Known() {
    for (const Option& option : kOptions) {
      const bool has_value = option.value == Value::needed;
      letters += option.letter;
      if (has_value) letters += ':';
      if (option.name == nullptr) continue;
      names.push_back({option.name, has_value ? required_argument : no_argument, nullptr, option.letter});
    }
    names.push_back({nullptr, 0, nullptr, 0});
  }
  std::string letters = ":";  ///< a missing value is told from an unknown option
  std::vector<::option> names;
};

void read(int letter, Settings& s) {
  const std::string_view value = optarg ? std::string_view(optarg) : std::string_view{};
  for (const Option& option : kOptions)
    if (option.letter == letter) return option.read(s, std::string{'-', option.letter}, value);
}

void check_tls(const Settings& s) {
  for (const std::string& address : s.addresses)
    if (!s.tls.enabled && address.substr(0, 6) == "notls:")
      throw UsageError("-l {}: without -Z there is no TLS to leave out", address);
  if (!s.tls.enabled) return;
  if (!tls_is_built()) make_tls_server(s.tls);  // says what is missing
  if (s.tls.chain_cert.empty()) throw UsageError("-Z needs a certificate: -o ssl_chain_cert=FILE");
  if (s.port == 0) throw UsageError("-Z needs a TCP port, and -p 0 is none");
  if (s.tls.verify_mode >= 2 && s.tls.ca_cert.empty())
    throw UsageError("ssl_verify_mode={} refuses every client without -o ssl_ca_cert=FILE",
                     s.tls.verify_mode);
}

void check(const Settings& s) {
  check_tls(s);
  const double share = s.lru.hot_share + s.lru.warm_share;
  if (share > 0.8001)
    throw UsageError("hot_lru_pct and warm_lru_pct are 80 at most together, not {:.0f}", share * 100);
  if (s.item_size_max > s.max_bytes / 2)
    throw UsageError("-I: an item may have at most half of the memory (-m), and {} is more", s.item_size_max);
  if (!s.auth_file.empty() && s.binding == Binding::binary)
    throw UsageError("-Y needs the text protocol, and -B binary excludes it");
  if (s.slab_chunk_max < sizeof(Item) + s.chunk_size)
    throw UsageError("-n {} does not fit into slab_chunk_max ({})", s.chunk_size, s.slab_chunk_max);
}

}  // namespace

Start read_options(int argc, char** argv, Settings& settings) try {
  const Known known;
  optind = 1, opterr = 0;
  for (;;) {
    const int letter = getopt_long(argc, argv, known.letters.c_str(), known.names.data(), nullptr);
    if (letter < 0) break;
    if (letter == 'h') return print_help(), Start::done;
    if (letter == 'V')
      return std::printf("rubato-cached %s (%s)\n", own_version(), version_text()), Start::done;
    if (letter == 'i')
      return std::printf("rubato-cached %s, SPDX-License-Identifier: MIT\n", own_version()), Start::done;
    if (letter == ':') throw UsageError("-{} needs a value", static_cast<char>(optopt));
    if (letter == '?') throw UsageError("{} is not known; rubato-cached -h lists what is", argv[optind - 1]);
    read(letter, settings);
  }
  if (optind < argc) throw UsageError("'{}' is no option; rubato-cached -h lists what is", argv[optind]);
  check(settings);
  return Start::serve;
} catch (const UsageError& error) {
  std::fprintf(stderr, "rubato-cached: %s\n", error.what());
  return Start::refused;
}

}  // namespace rubato::cached
