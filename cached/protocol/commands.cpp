// SPDX-License-Identifier: MIT
#include "cached/protocol/commands.hpp"

#include <array>
#include <cstdint>
#include <iterator>

#include "cached/protocol/handlers.hpp"

namespace rubato::cached {
namespace {

struct Command {
  std::string_view name;
  void (*run)(Session& session, const Words& words, std::string_view line);
};

/// The rest of `line` behind its first word, however many words it has.
std::string_view behind_name(const Words& words, std::string_view line) {
  return line.substr(static_cast<std::size_t>(words[0].data() + words[0].size() - line.data()));
}

template <bool with_cas, bool touch>
void get(Session& s, const Words& words, std::string_view line) {
  TextProtocol(s).get(behind_name(words, line), with_cas, touch);
}
template <StoreMode mode, bool cas>
void store(Session& s, const Words& words, std::string_view) {
  TextProtocol(s).store(words, mode, cas);
}
template <bool increment>
void count(Session& s, const Words& words, std::string_view) {
  TextProtocol(s).count(words, increment);
}
template <class Protocol, void (Protocol::*handler)(const Words&)>
void run(Session& s, const Words& words, std::string_view) {
  (Protocol(s).*handler)(words);
}

using Text = TextProtocol;
using Meta = MetaProtocol;
using Admin = AdminCommands;

/// The commands. Among names of one length the frequent ones come first.
constexpr Command kCommands[] = {
    {"set", store<StoreMode::set, false>},
    {"mg", run<Meta, &Meta::get>},
    {"ms", run<Meta, &Meta::set>},
    {"md", run<Meta, &Meta::remove>},
    {"ma", run<Meta, &Meta::arithmetic>},
    {"mn", run<Meta, &Meta::nothing>},
    {"me", run<Meta, &Meta::debug>},
    {"get", get<false, false>},
    {"bget", get<false, false>},
    {"gets", get<true, false>},
    {"gat", get<false, true>},
    {"gats", get<true, true>},
    {"add", store<StoreMode::add, false>},
    {"replace", store<StoreMode::replace, false>},
    {"append", store<StoreMode::append, false>},
    {"prepend", store<StoreMode::prepend, false>},
    {"cas", store<StoreMode::set, true>},
    {"delete", run<Text, &Text::remove>},
    {"incr", count<true>},
    {"decr", count<false>},
    {"touch", run<Text, &Text::touch>},
    {"stats", run<Admin, &Admin::stats>},
    {"version", run<Admin, &Admin::version>},
    {"quit", run<Admin, &Admin::quit>},
    {"flush_all", run<Admin, &Admin::flush_all>},
    {"verbosity", run<Admin, &Admin::verbosity>},
    {"slabs", run<Admin, &Admin::slabs>},
    {"lru", run<Admin, &Admin::lru>},
    {"lru_crawler", run<Admin, &Admin::lru_crawler>},
    {"cache_memlimit", run<Admin, &Admin::cache_memlimit>},
    {"shutdown", run<Admin, &Admin::shutdown>},
    {"watch", run<Admin, &Admin::watch>},
    {"refresh_certs", run<Admin, &Admin::refresh_certs>},
    {"debugtime", run<Admin, &Admin::debug_time>},
    {"misbehave", run<Admin, &Admin::misbehave>},
};
constexpr std::size_t kLongestName = 14;

/// The rows by the length of their names, of which few are alike: those of length n are `row[first[n]]` to
/// `row[first[n + 1]]`.
struct ByLength {
  std::array<std::uint8_t, std::size(kCommands)> row{};
  std::array<std::uint8_t, kLongestName + 2> first{};
};
constexpr ByLength by_length() {
  ByLength index;
  std::uint8_t at = 0;
  for (std::size_t length = 0; length <= kLongestName; ++length) {
    index.first[length] = at;
    for (std::uint8_t row = 0; row < std::size(kCommands); ++row)
      if (kCommands[row].name.size() == length) index.row[at++] = row;
  }
  index.first[kLongestName + 1] = at;
  return index;
}
constexpr ByLength kByLength = by_length();
static_assert(kByLength.first.back() == std::size(kCommands), "a name is longer than kLongestName");

}  // namespace

bool run_command(Session& session, const Words& words, std::string_view line) {
  const std::string_view name = words[0];
  if (name.size() > kLongestName) return false;
  for (unsigned n = kByLength.first[name.size()]; n < kByLength.first[name.size() + 1]; ++n) {
    const Command& command = kCommands[kByLength.row[n]];
    if (command.name != name) continue;
    command.run(session, words, line);
    return true;
  }
  return false;
}

}  // namespace rubato::cached
