// SPDX-License-Identifier: MIT
// The texts of --generate.
#include "apps/des/generated.hpp"

#include <array>
#include <charconv>
#include <string_view>

#include "apps/common/input_error.hpp"

namespace rubato::apps {
namespace {

constexpr std::uint32_t kMaxWidth = 1024;

struct Family {
  std::string_view prefix;
  bool (*has)(std::uint32_t width);
  Circuit (*make)(std::uint32_t width);
  KnownOutputs (*known)(const Circuit& circuit, const Stimulus& stimulus);
  const char* meaning;
};

constexpr std::array kFamilies = {
    Family{"csa:", [](std::uint32_t width) { return width >= 2 && width <= kMaxWidth; }, generate_csa,
           products, "the product of the inputs"},
    Family{"counter:", [](std::uint32_t width) { return width >= 1 && width <= kMaxWidth; }, generate_counter,
           counts, "the number of clock edges with en at 1"},
    Family{"lfsr:", [](std::uint32_t width) { return lfsr_tap(width) != 0; }, generate_lfsr, shifted_states,
           "the state of the shift register"}};

}  // namespace

GeneratedCircuit generate_circuit(const std::string& what) {
  for (const Family& family : kFamilies) {
    if (!what.starts_with(family.prefix)) continue;
    const std::string_view digits = std::string_view(what).substr(family.prefix.size());
    std::uint32_t width = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), width);
    if (error == std::errc{} && end == digits.data() + digits.size() && family.has(width))
      return {family.make(width), family.known, family.meaning};
  }
  throw InputError(
      "--generate " + what +
      ": csa:WIDTH with a width of 2 to 1024 bits (csa:32), counter:WIDTH with 1 to 1024, or lfsr:WIDTH "
      "with 2 to 7, 9 to 11, 15, 17, 18, 20 to 23, 25, 28, 29, 31, 63, 127 or 521 was expected");
}

}  // namespace rubato::apps
