// The options behind a dash, under memcached's letters and long names (T80), and those of memcached that are
// refused (T81).
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>

#include "cached/options/rows.hpp"
#include "cached/options/values.hpp"

namespace rubato::cached {
namespace {

void set_addresses(Settings& settings, std::string_view list) {
  settings.inter = list;
  const std::size_t before = settings.addresses.size();
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find_first_of(",;", at), list.size());
    if (end > at) settings.addresses.emplace_back(list.substr(at, end - at));
    at = end + 1;
  }
  // An empty address would be every address, also those that the user means to exclude.
  if (settings.addresses.size() == before) throw UsageError("-l '{}' names no address", list);
}

void set_socket_mask(Settings& settings, std::string_view octal) {
  unsigned mask = 0;
  const auto [end, error] = std::from_chars(octal.data(), octal.data() + octal.size(), mask, 8);
  if (error != std::errc{} || end != octal.data() + octal.size() || mask > 0777)
    throw UsageError("-a takes an octal mask from 0 to 0777, not '{}'", octal);
  settings.socket_mask = mask;
}

void set_memory_file(Settings& settings, std::string_view name) {
  if (name.empty()) throw UsageError("-e needs the name of a file");
  settings.memory_file = name;
}

struct ProtocolName {
  std::string_view name, shown;
  Binding binding;
};
constexpr ProtocolName kProtocols[] = {{"auto", "auto-negotiate", Binding::automatic},
                                       {"ascii", "ascii", Binding::ascii},
                                       {"binary", "binary", Binding::binary}};

bool set_protocol(Settings& settings, std::string_view word) {
  for (const ProtocolName& one : kProtocols)
    if (one.name == word) return settings.binding = one.binding, settings.binding_is_given = true;
  return false;
}
std::string show_protocol(const InForce& now) {
  const auto is_chosen = [&](const ProtocolName& one) { return one.binding == now.settings.binding; };
  return std::string(std::ranges::find_if(kProtocols, is_chosen)->shown);
}

std::string show_text_login(const InForce& now) {
  return now.settings.auth_file.empty() || now.settings.sasl ? "no" : "yes";
}

// memcached's values of options that are refused here.
std::string show_zero(const InForce&) { return "0"; }
std::string show_null(const InForce&) { return "(null)"; }

constexpr Option kByLetter[] = {
    {.letter = 'p',
     .name = "port",
     .group = Group::connections,
     .value = takes::Number<int>{-1, 65535, put<&Settings::port>},
     .placeholder = "N",
     .usual = "11211",
     .help = "TCP port; 0: none, -1: any",
     .shown = {"tcpport", show<&Settings::port>}},
    {.letter = 's',
     .name = "unix-socket",
     .group = Group::connections,
     .value = takes::Text{put<&Settings::socket>},
     .placeholder = "FILE",
     .help = "listen on a socket in the file system, and on no port",
     .shown = {"domain_socket", [](const InForce& now) { return or_null(now.settings.socket, "NULL"); }}},
    {.letter = 'a',
     .name = "unix-mask",
     .group = Group::connections,
     .value = takes::Text{set_socket_mask},
     .placeholder = "MASK",
     .usual = "0700",
     .help = "access mask of that socket, octal",
     .shown = {"umask", [](const InForce& now) { return fmt::format("{:o}", now.settings.socket_mask); }}},
    {.letter = 'A',
     .name = "enable-shutdown",
     .group = Group::permissions,
     .value = takes::Nothing{on<&Settings::shutdown_command>},
     .help = "allow the command shutdown",
     .shown = {"shutdown_command", show<&Settings::shutdown_command>}},
    {.letter = 'l',
     .name = "listen",
     .group = Group::connections,
     .value = takes::Text{set_addresses},
     .placeholder = "ADDR",
     .help =
         "addresses to listen on, separated by commas, instead of all; notls:ADDR without TLS in spite of -Z",
     .shown = {"inter", [](const InForce& now) { return or_null(now.settings.inter, "NULL"); }}},
    {.letter = 'd',
     .name = "daemon",
     .group = Group::process,
     .value = takes::Nothing{on<&Settings::daemon>},
     .help = "run in the background"},
    {.letter = 'r',
     .name = "enable-coredumps",
     .group = Group::process,
     .value = takes::Nothing{on<&Settings::core_dumps>},
     .help = "no limit for core dumps"},
    {.letter = 'u',
     .name = "user",
     .group = Group::process,
     .value = takes::Text{put<&Settings::user>},
     .placeholder = "NAME",
     .help = "the user to become; needed for root"},
    {.letter = 'm',
     .name = "memory-limit",
     .group = Group::memory,
     // As 64m, too, which memcached takes for 64; a g it would take for megabytes.
     .value = takes::Number<std::size_t>{1, 1 << 24,
                                         [](Settings& s, std::size_t n) { s.max_bytes = n << 20; }, 'm'},
     .placeholder = "MB",
     .usual = "64",
     .help = "memory for items, in megabytes",
     .shown = {"maxbytes", [](const InForce& now) { return fmt::format("{}", now.limit); }}},
    {.letter = 'M',
     .name = "disable-evictions",
     .group = Group::memory,
     .value = takes::Nothing{off<&Settings::evict>},
     .help = "answer an error when memory is full",
     .shown = {"evictions",
               [](const InForce& now) -> std::string { return now.settings.evict ? "on" : "off"; }}},
    {.letter = 'c',
     .name = "conn-limit",
     .group = Group::connections,
     .value = takes::Number<int>{1, 10000000, put<&Settings::max_connections>},
     .placeholder = "N",
     .usual = "1024",
     .help = "connections at a time",
     .shown = {"maxconns", show<&Settings::max_connections>}},
    {.letter = 'k',
     .name = "lock-memory",
     .group = Group::memory,
     .value = takes::Nothing{on<&Settings::lock_memory>},
     .help = "keep all memory resident"},
    {.letter = 'v',
     .name = "verbose",
     .group = Group::process,
     .value = takes::Nothing{[](Settings& s) { ++s.verbosity; }},
     .help = "say more on standard error; -vv and -vvv say still more",
     .shown = {"verbosity", show<&Settings::verbosity>}},
    {.letter = 'h', .name = "help", .group = Group::process, .help = "print this help"},
    {.letter = 'i', .name = "license", .group = Group::process, .help = "print the licence"},
    {.letter = 'V', .name = "version", .group = Group::process, .help = "print the version"},
    {.letter = 'P',
     .name = "pidfile",
     .group = Group::process,
     .value = takes::Text{put<&Settings::pid_file>},
     .placeholder = "FILE",
     .help = "write the process id there"},
    {.letter = 'f',
     .name = "slab-growth-factor",
     .group = Group::memory,
     .value = takes::Number<double>{1.0, 100.0, put<&Settings::factor>, 0, true},
     .placeholder = "F",
     .usual = "1.25",
     .help = "from one chunk size to the next",
     .shown = {"growth_factor", show_rounded<&Settings::factor, 2>}},
    {.letter = 'n',
     .name = "slab-min-size",
     .group = Group::memory,
     .value = takes::Number<std::size_t>{1, kPageSize / 2 - 48, put<&Settings::chunk_size>},
     .placeholder = "N",
     .usual = "48",
     .help = "smallest room for key, value and flags",
     .shown = {"chunk_size", show<&Settings::chunk_size>}},
    {.letter = 'L',
     .name = "enable-largepages",
     .group = Group::memory,
     .value = takes::Nothing{on<&Settings::preallocate>},
     .help = "a page for every class at start"},
    {.letter = 'D',
     .group = Group::reports,
     .value = takes::Text{[](Settings& s, std::string_view text) {
       s.prefix_delimiter = text.empty() ? ':' : text[0];
       s.detail = true;
     }},
     .placeholder = "CHAR",
     .usual = ":",
     .help = "delimiter of key prefixes for stats detail, which it switches on",
     .shown = {"stat_key_prefix", show<&Settings::prefix_delimiter>}},
    {.letter = 't',
     .name = "threads",
     .group = Group::process,
     .value = takes::Number<unsigned>{1, 1024, put<&Settings::threads>},
     .placeholder = "N",
     .usual = "4",
     .help = "threads that serve",
     .shown = {"num_threads", show<&Settings::threads>}},
    {.letter = 'R',
     .name = "max-reqs-per-event",
     .group = Group::connections,
     .value = takes::Number<int>{1, 1 << 30, put<&Settings::requests_per_event>},
     .placeholder = "N",
     .usual = "20",
     .help = "requests before another connection has its turn",
     .shown = {"reqs_per_event", show<&Settings::requests_per_event>}},
    {.letter = 'e',
     .name = "memory-file",
     .group = Group::memory,
     .value = takes::Text{set_memory_file},
     .placeholder = "FILE",
     .help = "items outlive a graceful stop (SIGUSR1) there, until the next start",
     .shown = {"memory_file",
               [](const InForce& now) { return or_null(now.settings.memory_file, "(null)"); }}},
    {.letter = 'C',
     .name = "disable-cas",
     .group = Group::memory,
     .value = takes::Nothing{off<&Settings::cas>},
     .help = "items without unique",
     .shown = {"cas_enabled", show<&Settings::cas>}},
    {.letter = 'b',
     .name = "listen-backlog",
     .group = Group::connections,
     .value = takes::Number<int>{1, 1 << 30, put<&Settings::backlog>},
     .placeholder = "N",
     .usual = "1024",
     .help = "connections that may wait to be accepted",
     .shown = {"tcp_backlog", show<&Settings::backlog>}},
    {.letter = 'B',
     .name = "protocol",
     .group = Group::connections,
     .value = takes::Word{"auto, ascii or binary", set_protocol},
     .placeholder = "NAME",
     .usual = "auto",
     .help = "protocol of all connections, or each by its first byte: auto, ascii or binary",
     .shown = {"binding_protocol", show_protocol}},
    {.letter = 'I',
     .name = "max-item-size",
     .group = Group::memory,
     .value = takes::Bytes{1024, std::size_t{1} << 30, put<&Settings::item_size_max>},
     .placeholder = "N",
     .usual = "1m",
     .help = "largest item, in bytes or with k or m; 1k to 1024m",
     .shown = {"item_size_max", show<&Settings::item_size_max>}},
    {.letter = 'F',
     .name = "disable-flush-all",
     .group = Group::permissions,
     .value = takes::Nothing{off<&Settings::flush>},
     .help = "refuse flush_all",
     .shown = {"flush_enabled", show<&Settings::flush>}},
    {.letter = 'X',
     .name = "disable-dumping",
     .group = Group::permissions,
     .value = takes::Nothing{off<&Settings::dump>},
     .help = "refuse dumps of keys",
     .shown = {"dump_enabled", show<&Settings::dump>}},
    {.letter = 'W',
     .name = "disable-watch",
     .group = Group::permissions,
     .value = takes::Nothing{off<&Settings::watch>},
     .help = "refuse watch"},
    {.letter = 'Y',
     .name = "auth-file",
     .group = Group::permissions,
     .value = takes::Text{put<&Settings::auth_file>},
     .placeholder = "FILE",
     .help = "lines user:password; text connections must log in",
     .shown = {"auth_enabled_ascii", show_text_login}},
    {.letter = 'S',
     .name = "enable-sasl",
     .group = Group::permissions,
     .value = takes::Nothing{on<&Settings::sasl>},
     .help =
         "clients of the binary protocol, the only one then, log in by SASL (PLAIN); users are those of -Y",
     .shown = {"auth_enabled_sasl", show<&Settings::sasl>}},
    {.letter = 'Z',
     .name = "enable-ssl",
     .group = Group::tls,
     .value = takes::Nothing{on<&TlsSettings::enabled>},
     .help = "TLS on every TCP port; needs -o ssl_chain_cert",
     .missing = &missing_for_tls,
     .shown = {"ssl_enabled", show<&TlsSettings::enabled>}},
    {.name = "list-options", .group = Group::own, .help = "print all options as tables of Markdown"},
    {.letter = 'o',
     .name = "extended",
     .group = Group::process,
     .value = takes::Text{read_extended},
     .placeholder = "LIST",
     .help = "further options, separated by commas"},
    {.letter = 'U',
     .name = "udp-port",
     .group = Group::refused,
     .value = takes::Text{[](Settings&, std::string_view text) {
       if (number("-U", text, 0, 65535))
         throw UsageError("-U {}: there is no UDP, which memcached has switched off since 1.5.6; use TCP",
                          text);
     }},
     .help = "only 0 is taken; TCP",
     .shown = {"udpport", show_zero}},
    {.letter = 'N',
     .name = "napi-ids",
     .group = Group::refused,
     .value = takes::Refused{": connections are not spread by NAPI ids; they are handed out in turn", true},
     .help = "nothing: connections are handed out in turn",
     .shown = {"num_napi_ids", show_null}},
};

}  // namespace

std::span<const Option> options_by_letter() { return kByLetter; }

}  // namespace rubato::cached
