// How a group of keys (groups.hpp) declares one: numbers, choices, and what has neither range nor choices.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "chip/config/schema.hpp"

namespace rubato::chip {

inline constexpr double kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
/// Sources of defaults.
inline constexpr std::string_view kTable = "Espresso, Table II", kOurs = "Rubato", kSwarm = "Swarm, Sec. V-A";

/// The member of Config that a key has.
#define RUBATO_MEMBER(path) [](Config& c) -> Member { return &c.path; }

inline Key number(std::string_view name, Member (*member)(Config&), std::string_view unit, double minimum,
                  double maximum, std::string_view description, std::string_view source) {
  return {.name = name,
          .member = member,
          .unit = unit,
          .minimum = minimum,
          .maximum = maximum,
          .description = description,
          .source = source};
}
inline Key automatic(Key key) {
  key.automatic = true;
  return key;
}
inline Key choice(std::string_view name, Member (*member)(Config&), std::vector<std::string_view> choices,
                  std::string_view description, std::string_view source) {
  return {.name = name,
          .member = member,
          .unit = "",
          .choices = std::move(choices),
          .description = description,
          .source = source};
}
inline Key plain(std::string_view name, Member (*member)(Config&), std::string_view description,
                 std::string_view source) {
  return {.name = name, .member = member, .unit = "", .description = description, .source = source};
}

}  // namespace rubato::chip
