// Option: a row of the tables of the command line (T80, T81). Parsing, help, docs/cached-options.md and
// `stats settings` read the same rows. A new option is a row in letters.cpp or extended.cpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "cached/options/settings.hpp"

namespace rubato::cached {

/// Kinds of values: what a text must be, and where it goes. values.hpp reads them.
namespace takes {

/// A switch. `set` is null if read_options() acts on the option itself.
struct Nothing {
  void (*set)(Settings&) = nullptr;
};
/// Any value or none, without effect.
struct Anything {};
/// A text that `set` may refuse.
struct Text {
  void (*set)(Settings&, std::string_view text);
};
/// A number from `low` to `high`.
template <class N>
struct Number {
  N low, high;
  void (*set)(Settings&, N number);
  char unit = 0;                  ///< a letter that may stand behind the number and changes nothing
  bool is_above = false;          ///< `low` itself is too small
  std::optional<N> without = {};  ///< the number if no value is given; empty: a value is needed
};
/// Bytes, with k or m behind the number.
struct Bytes {
  std::size_t low, high;
  void (*set)(Settings&, std::size_t bytes);
};
/// A word of `words`, which has them as a sentence does; null: the disciplines of this build. `set` is false
/// for another one.
struct Word {
  const char* words;
  bool (*set)(Settings&, std::string_view word);
};
/// An option of memcached that is refused. `sentence` goes on behind the option's name.
struct Refused {
  const char* sentence;
  bool needs_value = false;
};

}  // namespace takes

using Value = std::variant<takes::Nothing, takes::Anything, takes::Text, takes::Number<int>,
                           takes::Number<unsigned>, takes::Number<std::size_t>, takes::Number<double>,
                           takes::Bytes, takes::Word, takes::Refused>;

/// Settings as they hold now: those of the command line, and what commands have changed since.
struct InForce {
  const Settings& settings;
  LruTuning lru;
  std::size_t limit;
  bool crawls;
  std::string_view discipline;
};

/// The line of an option in `stats settings`, under memcached's name.
struct Shown {
  const char* name = nullptr;  ///< null: none
  std::string (*text)(const InForce&) = nullptr;
};

/// Parts of the page, in its order.
enum class Group : std::uint8_t {
  connections,
  process,
  memory,
  upkeep,
  reports,
  permissions,
  tls,
  own,
  refused
};
constexpr std::size_t kGroups = 9;

struct Option {
  char letter = 0;  ///< 0: none
  /// The long form, or the name behind -o. There `ext_*` is every name that begins so. Null: a letter alone.
  const char* name = nullptr;
  Group group = Group::process;
  Value value = {};
  const char* placeholder = "VALUE";
  const char* usual = "";           ///< the default, as a user would give it; of a switch, "on" or empty
  const char* help = "";            ///< what it does, and for a refused one what to do instead
  const char* no_effect = nullptr;  ///< the reason, for an option that is checked and does nothing
  /// Returns a sentence about what this build lacks for it, with the remedy, or null. Null: every build has
  /// it.
  const char* (*missing)() = nullptr;
  Shown shown = {};
};

/// Options behind a dash, in the order of the help.
std::span<const Option> options_by_letter();
/// Options behind -o.
std::span<const Option> extended_options();
/// Null if there is none of that name.
const Option* find_extended(std::string_view name);
/// Reads the list that stands behind -o. Errors: UsageError.
void read_extended(Settings& settings, std::string_view list);

inline const char* missing_for(const Option& option) { return option.missing ? option.missing() : nullptr; }

inline bool is_refused(const Option& option) { return std::holds_alternative<takes::Refused>(option.value); }

}  // namespace rubato::cached
