// The command line, as memcached reads it (T80): by the tables of letters.cpp and extended.cpp.
// SPDX-License-Identifier: MIT
#include <getopt.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "cached/options/help.hpp"
#include "cached/options/values.hpp"

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

void read_one(Settings& settings, std::string_view name, std::string_view value) {
  const Option* const option = find_extended(name);
  if (option && is_refused(*option)) return read_value(*option, settings, fmt::format("-o {}", name), value);
  if (!option) throw UsageError("-o {} is not known; rubato-cached -h lists what is", name);
  const Need need = need_of(option->value);
  if (need == Need::needed && value.empty()) throw UsageError("-o {} needs a value, as {}=...", name, name);
  // memcached reads no value there, so that 0 would switch it on.
  if (need == Need::none && !value.empty() && value != "1") {
    const std::string opposite =
        name.starts_with("no_") ? std::string(name.substr(3)) : fmt::format("no_{}", name);
    const Option* const other = find_extended(opposite);
    throw UsageError("-o {} takes no value{}", name,
                     other && !is_refused(*other) ? "; its opposite is " + opposite : std::string());
  }
  read_value(*option, settings, name, value);
}

/// The table in the form that getopt_long() takes.
struct Known {
  Known() {
    for (const Option& option : options_by_letter()) {
      const bool has_value = need_of(option.value) == Need::needed;
      if (option.letter) letters += option.letter;
      if (option.letter && has_value) letters += ':';
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
  for (const Option& option : options_by_letter())
    if (option.letter == letter) return read_value(option, s, std::string{'-', option.letter}, value);
}

void check_tls(const Settings& s) {
  for (const std::string& address : s.addresses)
    if (!s.tls.enabled && address.substr(0, 6) == "notls:")
      throw UsageError("-l {}: without -Z there is no TLS to leave out", address);
  if (!s.tls.enabled) return;
  if (s.tls.chain_cert.empty()) throw UsageError("-Z needs a certificate: -o ssl_chain_cert=FILE");
  if (s.port == 0) throw UsageError("-Z needs a TCP port, and -p 0 is none");
  if (s.tls.verify_mode >= 2 && s.tls.ca_cert.empty())
    throw UsageError("ssl_verify_mode={} refuses every client without -o ssl_ca_cert=FILE",
                     s.tls.verify_mode);
}

/// -S chooses the protocol, and the users if -Y does not.
void complete_sasl(Settings& s) {
  if (!s.sasl) return;
  if (!s.binding_is_given) s.binding = Binding::binary;
  if (s.binding != Binding::binary)
    throw UsageError("-S needs the binary protocol alone; say -B binary, or leave -B out");
  const char* const users = std::getenv("MEMCACHED_SASL_PWDB");
  if (s.auth_file.empty() && users) s.auth_file = users;
  if (s.auth_file.empty())
    throw UsageError(
        "-S needs users: -Y FILE, or the variable MEMCACHED_SASL_PWDB, with lines user:password");
}

void check(const Settings& s) {
  check_tls(s);
  const double share = s.lru.hot_share + s.lru.warm_share;
  if (share > 0.8001)
    throw UsageError("hot_lru_pct and warm_lru_pct are 80 at most together, not {:.0f}", share * 100);
  if (s.item_size_max > s.max_bytes / 2)
    throw UsageError("-I: an item may have at most half of the memory (-m), and {} is more", s.item_size_max);
  if (!s.auth_file.empty() && s.binding == Binding::binary && !s.sasl)
    throw UsageError(
        "-Y needs the text protocol, and -B binary excludes it; with -S it holds the users of SASL");
  if (s.slab_chunk_max < sizeof(Item) + s.chunk_size)
    throw UsageError("-n {} does not fit into slab_chunk_max ({})", s.chunk_size, s.slab_chunk_max);
  if (!s.slab_sizes.empty() && s.slab_sizes.back() > s.slab_chunk_max)
    throw UsageError("slab_sizes: {} is larger than slab_chunk_max ({})", s.slab_sizes.back(),
                     s.slab_chunk_max);
}

}  // namespace

void read_extended(Settings& settings, std::string_view list) {
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string_view one = list.substr(at, end - at);
    at = end + 1;
    if (one.empty()) continue;
    const std::size_t equals = one.find('=');
    read_one(settings, one.substr(0, equals),
             equals == one.npos ? std::string_view{} : one.substr(equals + 1));
  }
}

Start read_options(int argc, char** argv, Settings& settings) try {
  const Known known;
  optind = 1, opterr = 0;
  for (;;) {
    const int letter = getopt_long(argc, argv, known.letters.c_str(), known.names.data(), nullptr);
    if (letter < 0) break;
    if (letter == 'h') return print_help(), Start::done;
    if (letter == 0) return print_tables(), Start::done;
    if (letter == 'V')
      return std::printf("rubato-cached %s (%s)\n", own_version(), version_text()), Start::done;
    if (letter == 'i')
      return std::printf("rubato-cached %s, SPDX-License-Identifier: MIT\n", own_version()), Start::done;
    if (letter == ':') throw UsageError("-{} needs a value", static_cast<char>(optopt));
    if (letter == '?') throw UsageError("{} is not known; rubato-cached -h lists what is", argv[optind - 1]);
    read(letter, settings);
  }
  if (optind < argc) throw UsageError("'{}' is no option; rubato-cached -h lists what is", argv[optind]);
  complete_sasl(settings);
  check(settings);
  return Start::serve;
} catch (const UsageError& error) {
  std::fprintf(stderr, "rubato-cached: %s\n", error.what());
  return Start::refused;
}

}  // namespace rubato::cached
