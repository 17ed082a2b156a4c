// Error in an input file or an option: one sentence, exit code 2.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace rubato::apps {

class InputError : public std::runtime_error {
 public:
  explicit InputError(const std::string& sentence) : std::runtime_error(sentence) {}
  /// "california.gr:17: negative length -4"; `line` counts from 1.
  InputError(const std::string& file, std::uint64_t line, const std::string& sentence)
      : std::runtime_error(file + ":" + std::to_string(line) + ": " + sentence) {}
};

}  // namespace rubato::apps
