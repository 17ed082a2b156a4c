// Sets keys from values and from text, and says in one sentence what is wrong with a value.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <type_traits>

#include "base/error.hpp"
#include "chip/config/schema.hpp"

namespace rubato::chip {
namespace {

std::string show(const Value& value) {
  return std::visit(
      [](const auto& v) {
        using T = std::remove_cvref_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return fmt::format("'{}'", v);
        } else {
          return fmt::format("{}", v);
        }
      },
      value);
}

[[noreturn]] void refuse(const Key& key, std::string_view shown, std::string_view where) {
  throw UsageError("{}: {} is {}, expected {}{}", where, key.name, shown, key.expected(),
                   key.unit == "bytes" ? " (such as 65536, 64KiB or 1MiB)" : "");
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The factor of a suffix for a key of `unit`, or nothing if the key knows no such suffix.
std::optional<double> scale_of(std::string_view suffix, std::string_view unit) {
  struct Scale {
    std::string_view unit, suffix;
    double factor;
  };
  static constexpr Scale kScales[] = {
      {"bytes", "B", 1},         {"bytes", "KiB", 1024}, {"bytes", "MiB", 1024 * 1024},
      {"bytes", "GiB", 1 << 30}, {"MHz", "GHz", 1000.0}, {"share", "%", 0.01},
  };
  if (suffix.empty() || suffix == unit) return 1.0;
  for (const Scale& s : kScales) {
    if (s.unit == unit && s.suffix == suffix) return s.factor;
  }
  return std::nullopt;
}

/// Reads "512KiB", "2.5GHz", "1e6", "85%"; nothing if the text is no such number or, for integers, has a
/// fraction.
std::optional<Value> parse_number(const Key& key, std::string_view text) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  std::uint64_t whole = 0;
  if (const auto r = std::from_chars(begin, end, whole); r.ec == std::errc{} && r.ptr == end) {
    return Value{whole};  // exact beyond 2^53
  }
  double number = 0;
  const auto r = std::from_chars(begin, end, number);
  if (r.ec != std::errc{} || !std::isfinite(number)) return std::nullopt;
  const auto scale = scale_of(trim({r.ptr, static_cast<std::size_t>(end - r.ptr)}), key.unit);
  if (!scale) return std::nullopt;
  number *= *scale;
  if (key.type() == KeyType::number) return Value{number};
  if (number < 0 || number > key.maximum || number != std::floor(number)) return std::nullopt;
  return Value{static_cast<std::uint64_t>(number)};
}

void assign_number(Config& config, const Key& key, double number, std::uint64_t whole, std::string_view where,
                   const Value& shown) {
  const bool is_automatic = key.automatic && number == 0;
  if (!is_automatic && !(number >= key.minimum && number <= key.maximum)) refuse(key, show(shown), where);
  std::visit(
      [&](auto* p) {
        using T = std::remove_cvref_t<decltype(*p)>;
        if constexpr (std::is_same_v<T, double>) {
          *p = number;
        } else if constexpr (std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::uint64_t>) {
          *p = static_cast<T>(whole);
        }
      },
      key.member(config));
}

}  // namespace

void assign(Config& config, const Key& key, const Value& value, std::string_view where) {
  switch (key.type()) {
    case KeyType::boolean:
      if (const bool* b = std::get_if<bool>(&value)) {
        *std::get<bool*>(key.member(config)) = *b;
        return;
      }
      break;
    case KeyType::choice:
    case KeyType::text:
      if (const std::string* s = std::get_if<std::string>(&value)) {
        if (key.type() == KeyType::choice &&
            std::find(key.choices.begin(), key.choices.end(), *s) == key.choices.end()) {
          break;
        }
        *std::get<std::string*>(key.member(config)) = *s;
        return;
      }
      break;
    case KeyType::integer:
    case KeyType::number:
      if (const std::uint64_t* u = std::get_if<std::uint64_t>(&value)) {
        assign_number(config, key, static_cast<double>(*u), *u, where, value);
        return;
      }
      if (const double* d = std::get_if<double>(&value); d != nullptr && key.type() == KeyType::number) {
        assign_number(config, key, *d, 0, where, value);
        return;
      }
      break;
  }
  refuse(key, show(value), where);
}

void assign_text(Config& config, const Key& key, std::string_view text, std::string_view where) {
  text = trim(text);
  switch (key.type()) {
    case KeyType::boolean:
      if (text == "true" || text == "false") return assign(config, key, Value{text == "true"}, where);
      break;
    case KeyType::choice:
    case KeyType::text:
      return assign(config, key, Value{std::string(text)}, where);
    case KeyType::integer:
    case KeyType::number:
      if (key.automatic && text == "auto") return assign(config, key, Value{std::uint64_t{0}}, where);
      if (const auto number = parse_number(key, text)) {
        check_written(key, *number, where);
        return assign(config, key, *number, where);
      }
      break;
  }
  refuse(key, fmt::format("'{}'", text), where);
}

void check_written(const Key& key, const Value& value, std::string_view where) {
  if (key.automatic && value == Value{std::uint64_t{0}}) refuse(key, show(value), where);
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  text = trim(text);
  double number = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = number >= 0 && number < 0x1p53 && number == std::floor(number);
  if (r.ec != std::errc{} || r.ptr != text.data() + text.size() || !is_whole) return std::nullopt;
  return static_cast<std::uint64_t>(number);
}

void check_ranges(const Config& config, std::string_view where) {
  Config scratch = config;
  for (const Key& key : keys()) assign(scratch, key, key.get(config), where);
}

void apply_override(Config& config, std::string_view key_equals_value) {
  const std::string where = fmt::format("--set {}", key_equals_value);
  const auto equals = key_equals_value.find('=');
  if (equals == std::string_view::npos)
    throw UsageError("{}: expected KEY=VALUE, such as l2.size=512KiB", where);
  const std::string_view name = trim(key_equals_value.substr(0, equals));
  const Key* key = find_key(name);
  if (key == nullptr) {
    const std::string near = nearest_key(name);
    throw UsageError("{}: there is no key '{}'{}", where, name,
                     near.empty() ? "; --help-config lists all" : fmt::format("; did you mean {}?", near));
  }
  assign_text(config, *key, key_equals_value.substr(equals + 1), where);
}

}  // namespace rubato::chip
