// SPDX-License-Identifier: MIT
#include "cached/options/values.hpp"

#include "cached/discipline/disciplines.hpp"

namespace rubato::cached {
namespace {

bool ends_in(std::string_view text, char unit) { return !text.empty() && (text.back() | 32) == unit; }

struct NeedOf {
  Need operator()(const takes::Nothing&) const { return Need::none; }
  Need operator()(const takes::Anything&) const { return Need::optional; }
  Need operator()(const takes::Text&) const { return Need::needed; }
  template <class N>
  Need operator()(const takes::Number<N>& kind) const {
    return kind.without ? Need::optional : Need::needed;
  }
  Need operator()(const takes::Bytes&) const { return Need::needed; }
  Need operator()(const takes::Word&) const { return Need::needed; }
  Need operator()(const takes::Refused& kind) const { return kind.needs_value ? Need::needed : Need::none; }
};

struct ReadValue {
  Settings& settings;
  std::string_view spelled, text;

  void operator()(const takes::Nothing& kind) const { kind.set(settings); }
  void operator()(const takes::Anything&) const {}
  void operator()(const takes::Text& kind) const { kind.set(settings, text); }
  template <class N>
  void operator()(const takes::Number<N>& kind) const {
    if (kind.without && text.empty()) return kind.set(settings, *kind.without);
    const bool has_unit = kind.unit != 0 && ends_in(text, kind.unit);
    const N value = number(spelled, text.substr(0, text.size() - has_unit), kind.low, kind.high);
    if (kind.is_above && value <= kind.low)
      throw UsageError("{} takes a factor above {}, not '{}'", spelled, kind.low, text);
    kind.set(settings, value);
  }
  void operator()(const takes::Bytes& kind) const {
    const std::size_t unit = ends_in(text, 'k') ? 1 << 10 : ends_in(text, 'm') ? 1 << 20 : 1;
    const std::string_view digits = text.substr(0, text.size() - (unit != 1));
    const std::size_t bytes = number<std::size_t>(spelled, digits, 0, kind.high) * unit;
    if (bytes < kind.low || bytes > kind.high)
      throw UsageError("{} takes {} to {} bytes, not '{}'", spelled, kind.low, kind.high, text);
    kind.set(settings, bytes);
  }
  void operator()(const takes::Word& kind) const {
    if (!kind.set(settings, text))
      throw UsageError("{} is {}, not '{}'", spelled, kind.words ? kind.words : discipline_names(" or "),
                       text);
  }
  void operator()(const takes::Refused& kind) const { throw UsageError("{}{}", spelled, kind.sentence); }
};

/// Bytes in the largest unit that leaves a whole number.
std::string in_units(std::size_t bytes) {
  if (bytes != 0 && bytes % (1 << 20) == 0) return fmt::format("{}m", bytes >> 20);
  if (bytes != 0 && bytes % (1 << 10) == 0) return fmt::format("{}k", bytes >> 10);
  return fmt::format("{}", bytes);
}

struct Expected {
  const Option& option;

  std::string operator()(const takes::Nothing&) const { return {}; }
  std::string operator()(const takes::Anything&) const { return "any"; }
  std::string operator()(const takes::Text&) const { return fmt::format("`{}`", option.placeholder); }
  template <class N>
  std::string operator()(const takes::Number<N>& kind) const {
    std::string range = fmt::format("{}{} to {}", kind.is_above ? "above " : "", kind.low, kind.high);
    if (kind.without) range += fmt::format("; alone: {}", *kind.without);
    return range;
  }
  std::string operator()(const takes::Bytes& kind) const {
    return fmt::format("{} to {}", in_units(kind.low), in_units(kind.high));
  }
  std::string operator()(const takes::Word& kind) const {
    return kind.words ? kind.words : fmt::format("`{}`", option.placeholder);
  }
  std::string operator()(const takes::Refused&) const { return {}; }
};

}  // namespace

Need need_of(const Value& value) { return std::visit(NeedOf{}, value); }

void read_value(const Option& option, Settings& settings, std::string_view spelled, std::string_view text) {
  if (const char* const missing = missing_for(option)) throw UsageError("{}: {}", spelled, missing);
  std::visit(ReadValue{settings, spelled, text}, option.value);
}

std::string expected(const Option& option) { return std::visit(Expected{option}, option.value); }

}  // namespace rubato::cached
