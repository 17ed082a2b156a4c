// The verdict of --verify in the JSON object that a program prints.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "base/json_text.hpp"

namespace rubato::apps {

/// The object's last members. `wrong`: nothing if --verify was not asked for, "" if it found no fault.
inline void print_check_json(const std::optional<std::string>& wrong) {
  const char* const verdict = !wrong ? "none" : wrong->empty() ? "passed" : "failed";
  std::printf(", \"check\": \"%s\"", verdict);
  if (wrong && !wrong->empty()) std::printf(", \"error\": %s", json_quoted(*wrong).c_str());
}

}  // namespace rubato::apps
