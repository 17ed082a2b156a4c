// --help-config: what every key means, for a person and as JSON.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "chip/config/schema.hpp"

namespace rubato::chip {
namespace {

constexpr std::string_view kTypeNames[] = {"boolean", "integer", "number", "choice", "text"};

bool is_automatic(const Key& key, const Value& value) {
  return key.automatic && value == Value{std::uint64_t{0}};
}

nlohmann::ordered_json bound(const Key& key, double value) {
  if (key.type() == KeyType::integer) return static_cast<std::uint64_t>(value);
  return value;
}

}  // namespace

std::string help_config_text() {
  const Config defaults;
  std::string out;
  std::string_view section;
  for (const Key& key : keys()) {
    const auto name = key.name.substr(0, key.name.find('.'));
    if (name != section) {
      section = name;
      out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", section);
    }
    const Value value = key.get(defaults);
    out += fmt::format("{} = {}    ({})\n    {}  [{}]\n", key.name,
                       is_automatic(key, value) ? "auto" : toml_value(value), key.expected(), key.description,
                       key.source);
  }
  return out;
}

std::string help_config_json() {
  const Config defaults;
  auto all = nlohmann::ordered_json::array();
  for (const Key& key : keys()) {
    const Value value = key.get(defaults);
    nlohmann::ordered_json entry;
    entry["key"] = key.name;
    entry["type"] = kTypeNames[static_cast<unsigned>(key.type())];
    entry["unit"] = key.unit;
    if (is_automatic(key, value)) {
      entry["default"] = "auto";
    } else {
      std::visit([&](const auto& v) { entry["default"] = v; }, value);
    }
    if (key.type() == KeyType::integer || key.type() == KeyType::number) {
      entry["range"] = {bound(key, key.minimum), bound(key, key.maximum)};
    }
    if (!key.choices.empty()) entry["choices"] = key.choices;
    entry["automatic"] = key.automatic;
    entry["description"] = key.description;
    entry["source"] = key.source;
    all.push_back(std::move(entry));
  }
  return all.dump(2) + "\n";
}

}  // namespace rubato::chip
