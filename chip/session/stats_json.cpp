// SPDX-License-Identifier: MIT
#include "chip/session/stats_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/check.hpp"

namespace rubato::chip {
namespace {

using Json = nlohmann::json;  // objects are sorted by key

constexpr const char* kNoTask = "(no task)";
constexpr std::size_t kMostLines = 50;  // of conflicts: what a person may look at

Json json_of(const Histogram& h) {
  Json buckets = Json::array();
  for (unsigned i = 0; i < Histogram::kBuckets; ++i) buckets.push_back(h.bucket(i));
  return {{"buckets", std::move(buckets)}, {"samples", h.samples()}, {"sum", h.sum()}};
}

Json root(const StatRegistry& registry, const StatValues& values) {
  RUBATO_CHECK(values.size() == registry.stats().size());
  Json out = Json::object();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string& name = registry.stats()[i].name;
    if (const auto* count = std::get_if<std::uint64_t>(&values[i])) {
      out[name] = *count;
    } else if (const auto* number = std::get_if<double>(&values[i])) {
      if (std::isfinite(*number)) out[name] = *number;
    } else {
      out[name] = json_of(std::get<Histogram>(values[i]));
    }
  }
  return out;
}

Json functions(const RegionRecorder::FunctionCycles& by_function,
               const std::function<std::string(Addr)>& symbol) {
  Json out = Json::array();
  for (const auto& [address, table] : by_function) {
    if (table.sum() == 0) continue;
    Json cycles = Json::object();
    for (unsigned c = 0; c < kCycleClasses; ++c) {
      Json parts = Json::object();
      for (unsigned p = 0; p < kCycleParts; ++p) {
        if (table.cells[c][p] != 0)
          parts[std::string(name_of(static_cast<CyclePart>(p)))] = table.cells[c][p];
      }
      if (!parts.empty()) cycles[std::string(name_of(static_cast<CycleClass>(c)))] = std::move(parts);
    }
    out.push_back({{"function", address == 0 ? kNoTask : symbol(address)},
                   {"address", fmt::format("{:#x}", address)},
                   {"cycles", std::move(cycles)}});
  }
  return out;
}

/// Who aborted whom, and the lines that cost most (C25).
Json conflicts(const StatsDocument& document) {
  const auto function = [&](Addr a) { return a == 0 ? std::string(kNoTask) : document.symbol(a); };
  Json lines = Json::array();
  for (const AbortProfile::Line& row : document.aborts.lines(kMostLines)) {
    lines.push_back({{"line", fmt::format("{:#x}", addr_of(row.line))},
                     {"symbol", document.line_symbol(row.line)},
                     {"victim", function(row.victim)},
                     {"by", function(row.by)},
                     {"aborts", row.count.aborts},
                     {"lost_cycles", row.count.lost_cycles}});
  }
  Json functions = Json::array();
  for (const AbortProfile::Functions& row : document.aborts.functions()) {
    functions.push_back({{"victim", function(row.victim)},
                         {"by", function(row.by)},
                         {"cause", name_of(row.cause)},
                         {"aborts", row.count.aborts},
                         {"lost_cycles", row.count.lost_cycles}});
  }
  return {{"lines", std::move(lines)},
          {"line_count", document.aborts.line_count()},
          {"functions", std::move(functions)}};
}

}  // namespace

std::string kind_of(std::string_view name) {
  std::string kind;
  while (true) {
    const auto dot = name.find('.');
    const std::string_view part = name.substr(0, dot);
    const bool is_index =
        !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    kind += is_index ? "*" : part;
    if (dot == std::string_view::npos) return kind;
    kind += '.';
    name.remove_prefix(dot + 1);
  }
}

std::string stats_json(const StatsDocument& document) {
  Json kinds = Json::object();
  for (const Stat& stat : document.registry.stats()) {
    kinds.emplace(kind_of(stat.name), Json{{"unit", stat.unit}, {"description", stat.description}});
  }
  const Json out = {{"format", 1},
                    {"stats", std::move(kinds)},
                    {"roi", root(document.registry, document.roi)},
                    {"run", root(document.registry, document.run)},
                    {"functions", Json{{"roi", functions(document.roi_functions, document.symbol)},
                                       {"run", functions(document.run_functions, document.symbol)}}},
                    {"conflicts", conflicts(document)}};
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rubato::chip
