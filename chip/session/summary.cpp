// SPDX-License-Identifier: MIT
#include "chip/session/summary.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "chip/config/region_names.hpp"
#include "chip/vocabulary/message.hpp"

namespace rubato::chip {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kTaskCounts[] = {"created", "committed", "aborted",  "nonspeculative",
                                            "spilled", "promoted",  "held_back"};
constexpr std::string_view kWaitCounts[] = {"count", "cycles", "doomed"};
/// Counters of each of several programs, as ProgramUses registers them.
constexpr std::string_view kProgramCounts[] = {"l2.misses",     "llc.hits",  "llc.misses", "llc.evictions",
                                               "llc.displaced", "llc.lines", "mem.reads",  "mem.writes"};
constexpr std::string_view kDiskCounts[] = {"reads", "writes", "read_bytes", "written_bytes", "busy_cycles"};

/// Counts by name, of one root.
class Counts {
 public:
  Counts(const StatRegistry& registry, const StatValues& values) : registry_(registry), values_(values) {}

  /// 0 for what this chip has no part for.
  std::uint64_t of(std::string_view name) const {
    const Stat* stat = registry_.find(name);
    if (stat == nullptr) return 0;
    const StatValue& value = values_[static_cast<std::size_t>(stat - registry_.stats().data())];
    // A chip may compute a count; nothing outside regions of interest is in it then, or it says so itself.
    if (const auto* computed = std::get_if<double>(&value)) return static_cast<std::uint64_t>(*computed);
    const auto* count = std::get_if<std::uint64_t>(&value);
    RUBATO_CHECK(count != nullptr, "a count of the summary is registered as a histogram");
    return *count;
  }
  /// The chip has it, and it is of a part that was used.
  bool has(std::string_view name) const {
    const Stat* const stat = registry_.find(name);
    return stat != nullptr && !stat->is_hidden();
  }

 private:
  const StatRegistry& registry_;
  const StatValues& values_;
};

/// Shares of the core cycles by class; all zero if no cycle was simulated in detail.
std::array<double, kCycleClasses> cycle_shares(const Counts& counts) {
  std::array<double, kCycleClasses> shares{};
  std::uint64_t sum = 0;
  for (unsigned c = 0; c < kCycleClasses; ++c) {
    sum += counts.of(fmt::format("chip.core_cycles.{}", name_of(static_cast<CycleClass>(c))));
  }
  for (unsigned c = 0; c < kCycleClasses && sum != 0; ++c) {
    const auto cycles = counts.of(fmt::format("chip.core_cycles.{}", name_of(static_cast<CycleClass>(c))));
    shares[c] = static_cast<double>(cycles) / static_cast<double>(sum);
  }
  return shares;
}

double simulated_seconds(const SummaryInput& in, std::uint64_t cycles) {
  return static_cast<double>(cycles) / (static_cast<double>(in.config.chip.frequency_mhz) * 1e6);
}

/// Use of L2s, LLC and memory by one of several programs, numbered from 0.
OrderedJson caches_json(const Counts& roi, std::size_t program) {
  OrderedJson out;
  for (const auto name : kProgramCounts) {
    const std::size_t dot = name.find('.');
    out[std::string(name.substr(0, dot))][std::string(name.substr(dot + 1))] =
        roi.of(fmt::format("program.{}.{}", program + 1, name));
  }
  return out;
}

/// Sums over the L1Ds' prefetchers; without prefetchers all are 0.
struct Prefetches {
  static constexpr std::string_view kCounts[] = {"issued", "dropped", "useful",
                                                 "late",   "useless", "uncovered"};
  Prefetches(const Counts& roi, std::uint32_t cores) {
    for (std::size_t i = 0; i < std::size(kCounts); ++i)
      for (std::uint32_t core = 0; core < cores; ++core)
        of[i] += roi.of(fmt::format("core.{}.l1d.prefetch.{}", core, kCounts[i]));
  }
  std::uint64_t issued() const { return of[0]; }
  std::uint64_t useful() const { return of[2]; }
  std::uint64_t uncovered() const { return of[5]; }
  /// Share of the prefetched lines that were used.
  double accuracy() const { return share(useful(), issued()); }
  /// Share of the misses that there would be without prefetches, as far as a prefetched line serves them.
  double coverage() const { return share(useful(), useful() + uncovered()); }
  static double share(std::uint64_t part, std::uint64_t all) {
    return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
  }

  std::array<std::uint64_t, std::size(kCounts)> of{};
};

OrderedJson json_of(const Prefetches& prefetches) {
  OrderedJson out;
  for (std::size_t i = 0; i < std::size(Prefetches::kCounts); ++i)
    out[std::string(Prefetches::kCounts[i])] = prefetches.of[i];
  out["accuracy"] = prefetches.accuracy();
  out["coverage"] = prefetches.coverage();
  return out;
}

std::string caches_text(const Counts& roi, std::size_t program) {
  const auto of = [&](const char* name) { return roi.of(fmt::format("program.{}.{}", program + 1, name)); };
  return fmt::format(
      "    LLC: {} hits, {} misses, {} lines at the end, {} displaced by other programs; memory: {} reads, "
      "{} "
      "writes\n",
      of("llc.hits"), of("llc.misses"), of("llc.lines"), of("llc.displaced"), of("mem.reads"),
      of("mem.writes"));
}

/// Nothing was to be measured: the instructions of the whole run are the result.
bool is_fast_forwarded(const SummaryInput& in, std::uint64_t cycles) {
  return in.config.run.roi == kNowhere && cycles == 0;
}

/// Million guest instructions a host second: of detailed simulation if there was any.
double mips(const SummaryInput& in, std::uint64_t instructions) {
  if (instructions != 0 && in.host.detailed_seconds > 0) {
    return static_cast<double>(instructions) / in.host.detailed_seconds / 1e6;
  }
  return in.host.seconds > 0 ? static_cast<double>(in.total_instructions) / in.host.seconds / 1e6 : 0;
}

}  // namespace

double mean_cycles(std::span<const ProgramSummary> programs) {
  std::uint64_t sum = 0, count = 0;
  for (const ProgramSummary& program : programs) {
    if (program.result.cycles == 0) continue;
    sum += program.result.cycles;
    ++count;
  }
  return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
}

std::string cores_of(const ProgramResult& program) {
  if (program.cores == 1) return fmt::format("{}", program.first_core);
  return fmt::format("{}-{}", program.first_core, program.first_core + program.cores - 1);
}

std::string output_name(std::size_t program) {
  return program == 0 ? "output.txt" : fmt::format("output-{}.txt", program + 1);
}

ExitCode exit_code(const RunOutcome& outcome, CheckVerdict check) {
  if (outcome.code == ExitCode::success && (check == CheckVerdict::failed || outcome.guest_status != 0)) {
    return ExitCode::check_failed;
  }
  return outcome.code;
}

std::uint64_t created_tasks(const SummaryInput& in) {
  return Counts(in.registry, in.run).of("tasks.created");
}

std::string summary_json(const SummaryInput& in) {
  const Counts roi(in.registry, in.has_region ? in.roi : in.run), run(in.registry, in.run);
  const std::uint64_t cycles = roi.of("chip.cycles"), instructions = roi.of("chip.instructions");
  OrderedJson out;
  out["program"] = in.program;
  out["engine"] = "chip";
  out["cores"] = in.config.chip.cores;
  // A mode is one of tasks: a program without any has none.
  if (created_tasks(in) != 0)
    out["mode"] = in.config.task.mayspec;
  else
    out["mode"] = in.untasked_mode.empty() ? OrderedJson(nullptr) : OrderedJson(in.untasked_mode);
  out["seed"] = in.config.chip.seed;
  out["cycles"] = cycles;
  out["seconds"] = simulated_seconds(in, cycles);
  out["instructions"] = is_fast_forwarded(in, cycles) ? in.total_instructions : instructions;
  for (const auto name : kTaskCounts) out["tasks"][std::string(name)] = run.of(fmt::format("tasks.{}", name));
  for (const auto name : kWaitCounts)
    out["suspended_attempts"][std::string(name)] = run.of(fmt::format("tasks.suspended_attempts.{}", name));
  const auto shares = cycle_shares(roi);
  for (unsigned c = 0; c < kCycleClasses; ++c) {
    out["cycle_breakdown"][std::string(name_of(static_cast<CycleClass>(c)))] = shares[c];
  }
  for (unsigned t = 0; t < kTrafficClasses; ++t) {
    const auto name = name_of(static_cast<TrafficClass>(t));
    out["network_bytes"][std::string(name)] = roi.of(fmt::format("net.bytes.{}", name));
  }
  if (in.config.l1d.prefetcher != "none") out["prefetches"] = json_of(Prefetches(roi, in.config.chip.cores));
  if (roi.has("disk.reads"))
    for (const auto name : kDiskCounts) out["disk"][std::string(name)] = roi.of(fmt::format("disk.{}", name));
  out["check"] = name_of(in.check);
  out["long_tasks"] = nullptr;  // the native engine's
  out["actors"] = nullptr;      // the same
  out["host"] = OrderedJson{{"seconds", in.host.seconds},
                            {"mips", mips(in, instructions)},
                            {"peak_mb", in.host.peak_mb},
                            {"detailed_seconds", in.host.detailed_seconds},
                            {"total_instructions", in.total_instructions}};
  out["output"] = in.output;
  if (!in.programs.empty()) {
    out["mean_program_cycles"] = mean_cycles(in.programs);
    out["programs"] = OrderedJson::array();
    for (std::size_t i = 0; i < in.programs.size(); ++i) {
      const auto& [program, check] = in.programs[i];
      out["programs"].push_back({{"program", program.name},
                                 {"cores", cores_of(program)},
                                 {"cycles", program.cycles},
                                 {"instructions", program.instructions},
                                 {"fast_forward_instructions", program.fast_forward_instructions},
                                 {"caches", caches_json(roi, i)},
                                 {"check", name_of(check)},
                                 {"output", output_name(i)},
                                 {"exit_code", static_cast<int>(exit_code(program.outcome, check))},
                                 {"guest_status", program.outcome.guest_status},
                                 {"message", program.outcome.sentence}});
    }
  }
  out["exit_code"] = static_cast<int>(exit_code(in.outcome, in.check));
  out["guest_status"] = in.outcome.guest_status;
  out["complete"] = in.outcome.code != ExitCode::interrupted;
  out["message"] = in.outcome.sentence;
  return out.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string summary_text(const SummaryInput& in) {
  const Counts roi(in.registry, in.has_region ? in.roi : in.run), run(in.registry, in.run);
  const std::uint64_t cycles = roi.of("chip.cycles"), instructions = roi.of("chip.instructions");
  const auto& cores = in.config.chip.cores;
  std::string out =
      is_fast_forwarded(in, cycles)
          ? fmt::format("{} in fast-forward: {} instructions, no cycles\n", in.program, in.total_instructions)
          : fmt::format("{} on {} core{}: {} cycles ({:.6g} ms simulated), {} instructions\n", in.program,
                        cores, cores == 1 ? "" : "s", cycles, simulated_seconds(in, cycles) * 1e3,
                        instructions);
  for (std::size_t i = 0; i < in.programs.size(); ++i) {
    const auto& [program, check] = in.programs[i];
    const auto code = static_cast<int>(exit_code(program.outcome, check));
    out += fmt::format("  program {} ({}) on core{} {}: {} cycles, {} instructions, exit code {}{}{}\n",
                       i + 1, program.name, program.cores == 1 ? "" : "s", cores_of(program), program.cycles,
                       program.instructions, code, program.outcome.sentence.empty() ? "" : ": ",
                       program.outcome.sentence);
    out += caches_text(roi, i);
  }
  if (!in.programs.empty())
    out += fmt::format("  mean of the programs: {:.0f} cycles\n", mean_cycles(in.programs));
  if (!in.has_region && cycles != 0)
    out += "  the program never called run(): the figures are of the whole run\n";
  const auto shares = cycle_shares(roi);
  std::string parts;
  for (unsigned c = 0; c < kCycleClasses; ++c) {
    if (shares[c] == 0) continue;
    parts += fmt::format("{}{:.1f} % {}", parts.empty() ? "" : ", ", shares[c] * 100,
                         name_of(static_cast<CycleClass>(c)));
  }
  if (!parts.empty()) out += fmt::format("  core cycles: {}\n", parts);
  if (run.of("tasks.created") != 0) {
    parts.clear();
    for (const auto name : kTaskCounts) {
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", run.of(fmt::format("tasks.{}", name)), name);
    }
    out += fmt::format("  tasks: {}\n", parts);
  }
  if (const auto waits = run.of("tasks.suspended_attempts.count"); waits != 0)
    out += fmt::format("  attempts that waited in calls: {}, for {} cycles, {} aborted meanwhile\n", waits,
                       run.of("tasks.suspended_attempts.cycles"), run.of("tasks.suspended_attempts.doomed"));
  std::uint64_t bytes = 0;
  for (unsigned t = 0; t < kTrafficClasses; ++t) {
    bytes += roi.of(fmt::format("net.bytes.{}", name_of(static_cast<TrafficClass>(t))));
  }
  if (bytes != 0) out += fmt::format("  network: {} bytes\n", bytes);
  if (in.config.l1d.prefetcher != "none") {
    const Prefetches prefetches(roi, in.config.chip.cores);
    out += fmt::format(
        "  prefetches: {} lines, {:.1f} % of them used (accuracy); {:.1f} % of misses covered (coverage)\n",
        prefetches.issued(), prefetches.accuracy() * 100, prefetches.coverage() * 100);
  }
  if (roi.has("disk.reads"))
    out += fmt::format("  disk: {} bytes in {} reads, {} bytes in {} writes, busy for {} cycles\n",
                       roi.of("disk.read_bytes"), roi.of("disk.reads"), roi.of("disk.written_bytes"),
                       roi.of("disk.writes"), roi.of("disk.busy_cycles"));
  out += fmt::format("  check: {}; host: {:.2f} s, {:.1f} M instructions/s, {:.0f} MB\n", name_of(in.check),
                     in.host.seconds, mips(in, instructions), in.host.peak_mb);
  return out;
}

}  // namespace rubato::chip
