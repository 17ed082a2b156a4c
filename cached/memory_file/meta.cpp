// SPDX-License-Identifier: MIT
#include "cached/memory_file/meta.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <charconv>

namespace rubato::cached {

namespace {

constexpr std::string_view kOurs = "rubato-cached items ";
constexpr std::string_view kFormat = "rubato-cached items 1\n";
constexpr std::string_view kMemcached = "Tmain\n";  // the first line of memcached's

/// Takes a line `name number` off the text; false if it is another one.
template <class N>
bool take(std::string_view& text, std::string_view name, N& number) {
  if (!text.starts_with(name) || text.size() <= name.size() || text[name.size()] != ' ') return false;
  const char* const begin = text.data() + name.size() + 1;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  if (error != std::errc{} || end == text.data() + text.size() || *end != '\n') return false;
  text.remove_prefix(static_cast<std::size_t>(end + 1 - text.data()));
  return true;
}

}  // namespace

std::string meta_text(const Meta& m) {
  const std::string text = fmt::format(
      "{}id {}\nitems {}\nlength {}\nstopped {}\nclock {}\ncas {}\nflushed_cas {}\nflushed_until {}\n"
      "hash_power {}\n",
      kFormat, m.id, m.items, m.length, m.stopped, m.clock, m.state.cas, m.state.flushed_cas,
      m.state.flushed_until, m.state.hash_power);
  return fmt::format("{}checksum {}\n", text, XXH3_64bits(text.data(), text.size()));
}

// Every byte is compared with the text that the numbers make, so that a changed one shows.
MetaKind read_meta(std::string_view text, Meta& meta) {
  if (text.starts_with(kMemcached)) return MetaKind::memcached;
  if (!text.starts_with(kOurs)) return MetaKind::foreign;
  if (!text.starts_with(kFormat)) return MetaKind::other_format;
  std::string_view rest = text.substr(kFormat.size());
  Meta m;
  const bool is_read =
      take(rest, "id", m.id) && take(rest, "items", m.items) && take(rest, "length", m.length) &&
      take(rest, "stopped", m.stopped) && take(rest, "clock", m.clock) && take(rest, "cas", m.state.cas) &&
      take(rest, "flushed_cas", m.state.flushed_cas) && take(rest, "flushed_until", m.state.flushed_until) &&
      take(rest, "hash_power", m.state.hash_power);
  if (!is_read || m.state.hash_power > 32 || meta_text(m) != text) return MetaKind::damaged;
  meta = m;
  return MetaKind::whole;
}

}  // namespace rubato::cached
