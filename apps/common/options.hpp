// What the applications' command lines have in common, on top of CLI11.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace rubato::apps {

/// An option whose value is one of a few names.
template <class T>
CLI::Option* add_choice(CLI::App& app, const std::string& flag, T& value,
                        const std::vector<std::pair<std::string, T>>& names, const std::string& help) {
  std::string expected;
  for (const auto& [name, meaning] : names) expected += (expected.empty() ? "" : "|") + name;
  return app
      .add_option_function<std::string>(
          flag,
          [&value, names, flag, expected](const std::string& text) {
            for (const auto& [name, meaning] : names) {
              if (name == text) return static_cast<void>(value = meaning);
            }
            throw CLI::ValidationError(flag, "'" + text + "' is none of " + expected);
          },
          help)
      ->type_name(expected);
}

/// A check for CLI11: empty if the text is a whole number, else what is wrong.
inline std::string whole_number(const std::string& text) {
  const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? std::string() : "'" + text + "' is not a whole number";
}

}  // namespace rubato::apps
