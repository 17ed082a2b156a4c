// SPDX-License-Identifier: MIT
#include "chip/config/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "chip/config/keys/groups.hpp"

namespace rubato::chip {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// Integers without a fraction, others as short as exact.
std::string plain_number(double v) {
  return v == static_cast<double>(static_cast<std::uint64_t>(v))
             ? fmt::format("{}", static_cast<std::uint64_t>(v))
             : fmt::format("{}", v);
}

}  // namespace

KeyType Key::type() const {
  static Config example;
  const Member m = member(example);
  if (std::holds_alternative<bool*>(m)) return KeyType::boolean;
  if (std::holds_alternative<double*>(m)) return KeyType::number;
  if (std::holds_alternative<std::string*>(m)) return choices.empty() ? KeyType::text : KeyType::choice;
  return KeyType::integer;
}

Value Key::get(const Config& config) const {
  Config copy = config;
  return std::visit(
      [](const auto* p) -> Value {
        using T = std::remove_cvref_t<decltype(*p)>;
        if constexpr (std::is_same_v<T, std::uint32_t>) {
          return std::uint64_t{*p};
        } else {
          return *p;
        }
      },
      member(copy));
}

std::string Key::expected() const {
  switch (type()) {
    case KeyType::boolean:
      return "true or false";
    case KeyType::choice:
      return fmt::format("{}", fmt::join(choices, ", "));
    case KeyType::text:
      return "a text";
    case KeyType::integer:
    case KeyType::number:
      break;
  }
  const std::string upper = maximum == kAnyCount ? "2^53 - 1" : plain_number(maximum);
  return fmt::format("{} to {}{}{}{}", plain_number(minimum), upper, unit.empty() ? "" : " ", unit,
                     automatic ? ", or auto" : "");
}

const std::vector<Key>& keys() {
  static const std::vector<Key> all = [] {
    std::vector<Key> k;
    add_chip_keys(k);
    add_core_keys(k);
    add_cache_keys(k);
    add_coherence_keys(k);
    add_network_keys(k);
    add_memory_keys(k);
    add_disk_keys(k);
    add_task_keys(k);
    add_conflict_keys(k);
    add_arbiter_keys(k);
    add_energy_keys(k);
    add_run_keys(k);
    return k;
  }();
  return all;
}

const Key* find_key(std::string_view name) {
  const auto it =
      std::find_if(keys().begin(), keys().end(), [&](const Key& key) { return key.name == name; });
  return it == keys().end() ? nullptr : &*it;
}

std::string nearest(const NearestQuery& query) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, query.name.size() / 3) + 1;
  for (const std::string& candidate : query.known) {
    const std::size_t distance = edit_distance(query.name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string nearest_key(std::string_view name) {
  std::vector<std::string> known;
  for (const Key& key : keys()) {
    if (key.name.substr(key.name.find('.') + 1) == name)
      return std::string(key.name);  // the section was left out
    known.emplace_back(key.name);
  }
  return nearest({name, known});
}

}  // namespace rubato::chip
