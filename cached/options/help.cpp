// SPDX-License-Identifier: MIT
#include "cached/options/help.hpp"

#include <algorithm>

#include "cached/discipline/disciplines.hpp"
#include "cached/options/values.hpp"

namespace rubato::cached {
namespace {

constexpr std::size_t kWidth = 100;                // of lines
constexpr std::size_t kLetters = 27, kNames = 33;  // the columns at which sentences begin

/// `label`, and from `column` on the words of `text`, in as many lines as they need.
void print_entry(const std::string& label, std::size_t column, std::string_view text) {
  std::string line = label;
  line.resize(std::max(label.size() + 2, column), ' ');
  for (bool is_first = true; !text.empty(); is_first = false) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (is_first) {
      line += word;
    } else if (line.size() + 1 + word.size() <= kWidth) {
      line.append(" ").append(word);
    } else {
      fmt::print("{}\n", line);
      line.assign(column, ' ');
      line += word;
    }
  }
  fmt::print("{}\n", line);
}

std::string sentence_of(const Option& option) {
  std::string text = option.help;
  if (*option.usual != '\0') text += fmt::format(" (default: {})", option.usual);
  if (option.no_effect) text += fmt::format("; no effect: {}", option.no_effect);
  return text;
}

void print_letter(const Option& option) {
  std::string label = option.letter ? fmt::format("  -{}", option.letter) : "    ";
  if (option.name) label += fmt::format("{}--{}", option.letter ? ", " : "  ", option.name);
  if (need_of(option.value) == Need::needed)
    label += fmt::format("{}{}", option.name ? "=" : " ", option.placeholder);
  print_entry(label, kLetters, sentence_of(option));
}

void print_name(const Option& option) {
  const Need need = need_of(option.value);
  const std::string value = need == Need::none     ? ""
                            : need == Need::needed ? fmt::format("={}", option.placeholder)
                                                   : fmt::format("[={}]", option.placeholder);
  print_entry(fmt::format("     {}{}", option.name, value), kNames, sentence_of(option));
}

bool is_in_this_build(const Option& option) { return option.group != Group::refused && !missing_for(option); }

struct Part {
  const char* title;
  const char* about;
};
constexpr Part kParts[kGroups] = {
    {"Connections", "Where the server listens, and how many clients it serves."},
    {"Process", "The process and its threads."},
    {"Memory and items", "How much is kept, and in which chunks."},
    {"Maintenance", "What happens beside requests: moved items and pages, expired items."},
    {"Statistics and logs", "What `stats` and `watch` say."},
    {"Permissions", "What clients may do."},
    {"TLS", "In builds with OpenSSL 3: [TLS](cached.md#tls)."},
    {"Rubato's own",
     "Options that memcached does not have. [cached.md](cached.md#disciplines) compares the disciplines."},
    {"Refused", "Options of memcached that are refused in one sentence, before the server listens."},
};

/// As a user gives it: `-p`, `--port`, or `-o hashpower`.
std::string spelling(const Option& option, bool is_letter) {
  if (!is_letter) return fmt::format("`-o {}`", option.name);
  if (!option.letter) return fmt::format("`--{}`", option.name);
  return option.name ? fmt::format("`-{}`, `--{}`", option.letter, option.name)
                     : fmt::format("`-{}`", option.letter);
}

std::string in_code(const char* text) { return text && *text != '\0' ? fmt::format("`{}`", text) : ""; }

void print_row(const Option& option, bool is_letter) {
  if (option.group == Group::refused)
    return fmt::print("| {} | {} |\n", spelling(option, is_letter), option.help);
  const std::string no_effect = option.no_effect ? fmt::format(". No effect: {}", option.no_effect) : "";
  fmt::print("| {} | {} | {} | {}{} | {} |\n", spelling(option, is_letter), expected(option),
             in_code(option.usual), option.help, no_effect, in_code(option.shown.name));
}

void print_rows(Group group, std::span<const Option> options, bool is_letter) {
  for (const Option& option : options)
    if (option.group == group) print_row(option, is_letter);
}

}  // namespace

void print_help() {
  fmt::print("rubato-cached {}: a cache that takes the place of memcached {}\n", own_version(),
             version_text());
  for (const Option& option : options_by_letter())
    if (is_in_this_build(option)) print_letter(option);
  for (const Option& option : extended_options())
    if (is_in_this_build(option)) print_name(option);
  fmt::print("     VALUE of discipline: {} ({})\n", discipline_names(", "), disciplines().front().name);
}

void print_tables() {
  for (std::size_t part = 0; part < kGroups; ++part) {
    const Group group{static_cast<std::uint8_t>(part)};
    fmt::print("\n## {}\n\n{}\n\n", kParts[part].title, kParts[part].about);
    fmt::print("{}", group == Group::refused
                         ? "| option | instead |\n| --- | --- |\n"
                         : "| option | value | default | meaning | in `stats settings` |\n"
                           "| --- | --- | --- | --- | --- |\n");
    print_rows(group, options_by_letter(), true);
    print_rows(group, extended_options(), false);
  }
}

}  // namespace rubato::cached
