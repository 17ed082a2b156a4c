// Values of options: how a text becomes one, and what a page says of it.
// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "cached/options/option.hpp"

namespace rubato::cached {

/// Errors: UsageError, which names the option as `spelled` has it.
template <class N>
N number(std::string_view spelled, std::string_view text, N low, N high) {
  N value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_within = value >= low && value <= high;  // of NaN neither holds
  if (error != std::errc{} || end != text.data() + text.size() || !is_within)
    throw UsageError("{} takes a number from {} to {}, not '{}'", spelled, low, high, text);
  return value;
}

enum class Need : std::uint8_t { none, optional, needed };
Need need_of(const Value& value);

/// Checks `text` and puts it into the settings. Errors: UsageError, which names the option as `spelled` has
/// it; also if this build lacks what the option needs.
void read_value(const Option& option, Settings& settings, std::string_view spelled, std::string_view text);

/// The values that an option takes, for a page: "1 to 1024".
std::string expected(const Option& option);

}  // namespace rubato::cached
