// Every key of the configuration, declared once (keys/): from here come --set, TOML files, checks,
// --help-config, run.toml and docs/parameters.md. A key's default is what its member in config.hpp is
// initialized with.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "chip/config/config.hpp"

namespace rubato::chip {

/// The value of a key.
using Value = std::variant<bool, std::uint64_t, double, std::string>;

/// A pointer to a key's member; its type is the key's type.
using Member = std::variant<bool*, std::uint32_t*, std::uint64_t*, double*, std::string*>;

/// The largest of a count: 2^53 - 1, exact as a double.
inline constexpr double kAnyCount = 9007199254740991.0;

enum class KeyType : std::uint8_t { boolean, integer, number, choice, text };

struct Key {
  std::string_view name;  ///< "l2.size": section, dot, member
  Member (*member)(Config&);
  std::string_view unit;                    ///< "" for what has none
  double minimum = 0, maximum = 0;          ///< inclusive; of numbers
  bool automatic = false;                   ///< 0, also written "auto", is replaced by resolve()
  std::vector<std::string_view> choices{};  ///< of choices
  std::string_view description;             ///< one sentence
  std::string_view source;                  ///< where the default comes from

  KeyType type() const;
  Value get(const Config& config) const;
  /// "1 to 8 cores", "mesi", "true or false": what assign() accepts, for a person.
  std::string expected() const;
};

/// All keys, by section in the order of Config.
const std::vector<Key>& keys();

/// The key called `name`, or null.
const Key* find_key(std::string_view name);

/// The name of `known` most like `name`, or "" if none is near.
struct NearestQuery {
  std::string_view name;
  const std::vector<std::string>& known;
};
std::string nearest(const NearestQuery& query);

/// The key most like `name`, or "" if none is near.
std::string nearest_key(std::string_view name);

/// Sets a key. @throws UsageError "WHERE: ..." if the value's type, range or choice is wrong.
void assign(Config& config, const Key& key, const Value& value, std::string_view where);

/// 0 stands for "auto" inside the simulator only. @throws UsageError "WHERE: ..." if a person wrote it for
/// that.
void check_written(const Key& key, const Value& value, std::string_view where);

/// Sets a key from text, with units as people write them: "512KiB", "2GHz", "85%", "auto".
/// @throws UsageError "WHERE: ..." as assign(), or if the text is no such value.
void assign_text(Config& config, const Key& key, std::string_view text, std::string_view where);

/// A whole number as people write it: "1000", "1e6"; nothing if the text is none below 2^53.
std::optional<std::uint64_t> parse_count(std::string_view text);

/// Applies a `--set KEY=VALUE`. @throws UsageError.
void apply_override(Config& config, std::string_view key_equals_value);

/// Reads a TOML file over `config`: tables are sections. A run.toml is accepted too: its table [config] is
/// read.
/// @throws UsageError "FILE:LINE: KEY: ..." for wrong syntax, unknown keys, wrong types and values.
void load_toml(Config& config, const std::string& path);
/// The same from text; `name` stands for the file in errors.
void load_toml_text(Config& config, std::string_view text, const std::string& name);

/// Every key with its value, a table a section; `prefix` (such as "config.") comes before the tables' names.
/// With `comments` each key's sentence and range stand above it.
std::string write_toml(const Config& config, std::string_view prefix = "", bool comments = false);

/// @throws UsageError "WHERE: ..." if a value of `config` is outside its key's range or choices.
void check_ranges(const Config& config, std::string_view where);

/// A value as TOML writes it.
std::string toml_value(const Value& value);

/// --help-config: for a person, and as JSON.
std::string help_config_text();
std::string help_config_json();

}  // namespace rubato::chip
