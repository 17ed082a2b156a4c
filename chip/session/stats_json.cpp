// SPDX-License-Identifier: MIT
#include "chip/session/stats_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/check.hpp"
#include "chip/coherence/energy/energy_model.hpp"
#include "chip/os/wait_names.hpp"
#include "chip/session/contention_json.hpp"

namespace rubato::chip {
namespace {

using Json = nlohmann::json;  // objects are sorted by key

constexpr const char* kNoTask = "(no task)";
constexpr std::size_t kMostRows = 1000;
constexpr std::size_t kMostLines = 50;  // of conflicts: what a person may look at

Json json_of(const Histogram& h) {
  Json buckets = Json::array();
  for (unsigned i = 0; i < Histogram::kBuckets; ++i) buckets.push_back(h.bucket(i));
  return {{"buckets", std::move(buckets)}, {"samples", h.samples()}, {"sum", h.sum()}};
}

/// The statistics from which energy is computed, by kind.
class EnergyRoots {
 public:
  EnergyRoots(const Config& config, const StatRegistry& registry) : config_(config) {
    for (std::size_t i = 0; i < registry.stats().size(); ++i)
      of_kind_[kind_of(registry.stats()[i].name)].push_back(i);
  }
  void add(Json& root, const StatValues& values) const {
    const auto sum = [&](std::string_view kind) -> std::optional<double> {
      const auto found = of_kind_.find(kind);
      if (found == of_kind_.end()) return std::nullopt;
      double total = 0;
      for (const std::size_t i : found->second)
        if (const auto* count = std::get_if<std::uint64_t>(&values[i])) total += static_cast<double>(*count);
      return total;
    };
    for (const EnergyStat& stat : energy_stats(energy_of(config_, sum))) root[stat.name] = stat.value;
  }

 private:
  const Config& config_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> of_kind_;
};

Json root(const EnergyRoots* energy, const StatRegistry& registry, const StatValues& values) {
  RUBATO_CHECK(values.size() == registry.stats().size());
  Json out = Json::object();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (registry.stats()[i].is_hidden()) continue;
    const std::string& name = registry.stats()[i].name;
    if (const auto* count = std::get_if<std::uint64_t>(&values[i])) {
      out[name] = *count;
    } else if (const auto* number = std::get_if<double>(&values[i])) {
      if (std::isfinite(*number)) out[name] = *number;
    } else {
      out[name] = json_of(std::get<Histogram>(values[i]));
    }
  }
  if (energy != nullptr) energy->add(out, values);
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

/// Conflicts: the functions of victims and aborters, and the lines that cost most (C25).
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

/// Why cores had no task: idle cores added up over samples, by what explains them.
Json parallelism(const ParallelismProfile& profile, const std::function<std::string(Addr)>& symbol) {
  const auto rounded = [](double cores) { return std::round(cores * 100) / 100; };
  Json waiting = Json::object(), few = Json::object();
  for (unsigned w = 0; w < kTaskWaits; ++w)
    if (const double cores = profile.waiting(static_cast<TaskWait>(w)); cores != 0)
      waiting[std::string(name_of(static_cast<TaskWait>(w)))] = rounded(cores);
  for (const auto& [running, cores] : profile.few()) few[std::to_string(running)] = rounded(cores);
  const auto rows = [&](const auto& map, const auto& row_of) {
    std::vector<const typename std::decay_t<decltype(map)>::value_type*> sorted;
    double all = 0;
    for (const auto& row : map) {
      sorted.push_back(&row);
      all += row.second.idle;
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto* a, const auto* b) { return a->second.idle > b->second.idle; });
    if (sorted.size() > kMostLines) sorted.resize(kMostLines);
    Json out = Json::array();
    for (const auto* row : sorted) out.push_back(row_of(*row));
    return Json{{"count", map.size()}, {"idle", rounded(all)}, {"rows", std::move(out)}};
  };
  return {{"samples", profile.samples()},
          {"idle_samples", profile.idle_samples()},
          {"idle", profile.idle()},
          {"waiting", std::move(waiting)},
          {"locales", rows(profile.locales(),
                           [&](const auto& row) {
                             return Json{{"locale", row.first},
                                         {"function", symbol(row.second.function)},
                                         {"idle", rounded(row.second.idle)}};
                           })},
          {"few", std::move(few)},
          {"lone_samples", profile.lone_samples()},
          {"lone_regions", profile.lone_regions()},
          {"tasks", rows(profile.tasks(), [&](const auto& row) {
             return Json{{"task", row.first},
                         {"function", symbol(row.second.function)},
                         {"idle", rounded(row.second.idle)},
                         {"samples", row.second.samples}};
           })}};
}

/// Calls by name (P61).
Json capsules(const CapsuleCalls& calls, const std::function<std::string(Addr)>& symbol) {
  Json rows = Json::array();
  for (const auto& [stub, count] : calls.by_stub())
    rows.push_back({{"capsule", capsule_name(symbol(stub))},
                    {"calls", count.calls},
                    {"cycles", count.cycles},
                    {"doomed_calls", count.doomed_calls},
                    {"doomed_cycles", count.doomed_cycles}});
  return rows;
}

/// How a thread came to a place: the addresses with their functions, its own first.
Json rows_of(const std::vector<Called>& calls) {
  Json rows = Json::array();
  for (const Called& call : calls)
    rows.push_back({{"address", fmt::format("{:#x}", call.address)}, {"function", call.function}});
  return rows;
}

Json by_number(const std::map<int, std::uint64_t>& counts) {
  Json out = Json::object();
  for (const auto& [thread, count] : counts) out[std::to_string(thread)] = count;
  return out;
}

/// The cycles of every thread that ran in detail.
Json threads(const ThreadProfile& profile) {
  Json out = Json::array();
  for (const auto& [id, thread] : profile.threads()) {
    Json running = Json::object(), blocked = Json::object();
    for (unsigned p = 0; p < kCycleParts; ++p)
      if (thread.running[p] != 0)
        running[std::string(name_of(static_cast<CyclePart>(p)))] = thread.running[p];
    for (const auto& [kind, cycles] : thread.blocked) blocked[std::string(name_of(kind))] = cycles;
    Json row = {{"thread", id},
                {"began", thread.began.value},
                {"running", std::move(running)},
                {"ready", thread.ready},
                {"blocked", std::move(blocked)}};
    if (thread.has_ended) row["ended"] = thread.ended.value;
    out.push_back(std::move(row));
  }
  return out;
}

/// Core cycles without a thread: by the waits that explain them, and else by how many threads there were
/// meanwhile.
Json idle(const IdleAccount& account) {
  return {{"waits", std::llround(account.for_waits())},
          {"alone", by_number(account.alone())},
          {"few", by_number(account.few())},
          {"none", account.none()}};
}

/// Waits of threads, the most cycles first.
Json waits(const StatsDocument& document) {
  std::vector<const std::pair<const ThreadProfile::Place, ThreadProfile::Waits>*> rows;
  for (const auto& row : document.threads->waits()) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto* a, const auto* b) { return a->second.cycles > b->second.cycles; });
  if (rows.size() > kMostRows) rows.resize(kMostRows);
  Json out = Json::array();
  for (const auto* row : rows) {
    const auto& [place, waits] = *row;
    const std::vector<Called> calls = called_by(place.chain, document.symbol, document.has_source);
    const Addr object = place.word == 0 ? 0 : object_of_wait(place.word, calls, document.symbol);
    out.push_back({{"for", describe_wait(place.kind, calls)},
                   {"user", user_frame(calls)},
                   {"address", fmt::format("{:#x}", object)},
                   {"symbol", object == 0 ? "" : document.symbol(object)},
                   {"at", rows_of(calls)},
                   {"waits", waits.count},
                   {"cycles", waits.cycles},
                   {"idle", std::llround(waits.idle)},
                   {"longest", waits.longest},
                   {"threads", by_number(waits.by_thread)},
                   {"ended_by", by_number(waits.ended_by)},
                   {"held_by", by_number(waits.held_by)}});
  }
  return out;
}

/// Sampled places of cores, the most frequent first.
Json profile(const StatsDocument& document) {
  struct Row {
    const std::vector<Addr>* chain;
    const ThreadProfile::Samples* of;
    std::uint64_t samples = 0;
  };
  std::vector<Row> rows;
  for (const auto& [site, samples] : document.threads->samples()) {
    rows.push_back({&site.chain, &samples});
    for (const auto& [thread, count] : samples.by_thread) rows.back().samples += count;
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.samples > b.samples; });
  if (rows.size() > kMostRows) rows.resize(kMostRows);
  Json sites = Json::array();
  for (const Row& row : rows) {
    const std::vector<Called> calls = called_by(*row.chain, document.symbol, document.has_source);
    sites.push_back({{"spins_for", describe_wait(ThreadWait::Kind::none, calls)},
                     {"user", user_frame(calls)},
                     {"at", rows_of(calls)},
                     {"threads", by_number(row.of->by_thread)},
                     {"alone", by_number(row.of->alone)},
                     {"samples", row.samples}});
  }
  return {{"cycles", document.profile_cycles},
          {"samples", document.threads->sample_count()},
          {"sites", std::move(sites)}};
}

void add_threads(Json& out, const StatsDocument& document) {
  out["threads"] = threads(*document.threads);
  out["idle"] = idle(document.threads->idle());
  out["waits"] = waits(document);
  out["profile"] = profile(document);
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
    if (stat.is_hidden()) continue;
    // Hundreds of tiles have a statistic of each kind.
    if (Json& kind = kinds[kind_of(stat.name)]; kind.is_null())
      kind = {{"unit", stat.unit}, {"description", stat.description}};
  }
  std::optional<EnergyRoots> roots;
  if (document.config != nullptr) roots.emplace(*document.config, document.registry);
  const EnergyRoots* const energy = roots ? &*roots : nullptr;
  if (document.config != nullptr)
    for (const EnergyStat& stat : energy_stats({}))
      kinds.emplace(stat.name, Json{{"unit", stat.unit}, {"description", stat.description}});
  Json out = {{"format", 1},
              {"stats", std::move(kinds)},
              {"roi", root(energy, document.registry, document.roi)},
              {"run", root(energy, document.registry, document.run)},
              {"functions", Json{{"roi", functions(document.roi_functions, document.symbol)},
                                 {"run", functions(document.run_functions, document.symbol)}}},
              {"conflicts", conflicts(document)}};
  if (document.parallelism != nullptr && document.parallelism->samples() != 0)
    out["parallelism"] = parallelism(*document.parallelism, document.symbol);
  if (document.contention != nullptr)
    out["contention"] = contention_json(*document.contention, document.line_blocks, document.symbol);
  if (document.capsules != nullptr && document.capsules->all().calls != 0)
    out["capsules"] = capsules(*document.capsules, document.symbol);
  if (document.marked != nullptr && !document.marked->regions().empty()) {
    Json regions = Json::array();
    for (const auto& region : document.marked->regions())
      regions.push_back({{"name", region->name},
                         {"times", region->recorder.regions()},
                         {"values", root(energy, document.registry, region->recorder.values())},
                         {"functions", functions(region->recorder.function_cycles(), document.symbol)}});
    out["regions"] = std::move(regions);
  }
  if (document.threads != nullptr) add_threads(out, document);
  for (const StatsDocument::OfProgram& program : document.programs) {
    StatsDocument its = document;
    its.threads = program.threads;
    its.symbol = program.symbol;
    its.has_source = program.has_source;
    Json entry = {{"program", program.name}};
    add_threads(entry, its);
    out["programs"].push_back(std::move(entry));
  }
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rubato::chip
