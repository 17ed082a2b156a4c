// SPDX-License-Identifier: MIT
#include "chip/session/session.hpp"
#include "chip/session/commit_order.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/sha256.hpp"
#include "base/standard_output.hpp"
#include "chip/config/schema.hpp"
#include "chip/session/guest_output.hpp"
#include "chip/session/instruction_trace.hpp"
#include "chip/session/marked_regions.hpp"
#include "chip/session/progress_reporter.hpp"
#include "chip/session/run_directory.hpp"
#include "chip/session/snapshot.hpp"
#include "chip/session/stats_json.hpp"
#include "chip/session/summary.hpp"
#include "chip/session/time_series.hpp"
#include "chip/session/trace_writer.hpp"
#include "chip/session/watchpoint.hpp"

namespace rubato::chip {
namespace {

volatile sig_atomic_t interrupt_requested = 0;

/// SIGINT and SIGTERM ask the run to stop; a second one ends the process as usual.
class InterruptGuard {
 public:
  InterruptGuard() {
    interrupt_requested = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { interrupt_requested = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &old_int_);
    sigaction(SIGTERM, &action, &old_term_);
  }
  ~InterruptGuard() {
    sigaction(SIGINT, &old_int_, nullptr);
    sigaction(SIGTERM, &old_term_, nullptr);
  }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  struct sigaction old_int_ {
  }, old_term_{};
};

/// Ties what the chip reports to regions, series, trace and progress.
class Watcher final : public ChipObserver {
 public:
  Watcher(RegionRecorder& regions, MarkedRegions& marked, TimeSeries* series, ProgressReporter& progress)
      : regions_(regions), marked_(marked), series_(series), progress_(progress) {}

  void on_region_begin(Cycle) override {
    regions_.begin();
    region_began_ = progress_.seconds();
  }
  void on_region_end(Cycle) override {
    regions_.end();
    detailed_seconds_ += progress_.seconds() - region_began_;
  }
  void on_marker(bool begins, const std::string& name) override { marked_.mark(begins, name); }
  void on_interval(Cycle now) override {
    if (series_ != nullptr) series_->sample(now);
  }
  bool on_progress(const Progress& progress) override {
    if (interrupt_requested != 0) return false;
    progress_.report(progress);
    return true;
  }
  double detailed_seconds() const {
    return detailed_seconds_ + (regions_.is_inside() ? progress_.seconds() - region_began_ : 0);
  }

 private:
  RegionRecorder& regions_;
  MarkedRegions& marked_;
  TimeSeries* series_;
  ProgressReporter& progress_;
  double region_began_ = 0, detailed_seconds_ = 0;
};

std::string toml_list(const std::vector<std::string>& values) {
  std::string out;
  for (const std::string& v : values)
    out += fmt::format("{}{}", out.empty() ? "" : ", ", toml_value(Value{v}));
  return "[" + out + "]";
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

std::string joined_command(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

void write_results(const RunDirectory& directory, const Simulation& simulation, const RegionRecorder& regions,
                   const MarkedRegions& marked, const SummaryInput& summary, const TimeSeries* series) {
  const auto roi_functions = regions.function_cycles();
  std::vector<StatsDocument::OfProgram> programs;
  for (const ProgramSummary& program : summary.programs)
    programs.push_back(
        {program.result.name, program.result.threads, program.result.symbol, program.result.has_source});
  directory.write("stats.json", stats_json({.registry = simulation.registry(),
                                            .roi = summary.roi,
                                            .run = summary.run,
                                            .roi_functions = roi_functions,
                                            .run_functions = simulation.cycle_account().by_function(),
                                            .aborts = simulation.abort_profile(),
                                            .contention = simulation.line_contention(),
                                            .parallelism = simulation.parallelism_profile(),
                                            .capsules = simulation.capsule_calls(),
                                            .marked = &marked,
                                            .threads = simulation.thread_profile(),
                                            .profile_cycles = summary.config.run.profile_cycles,
                                            .config = &summary.config,
                                            .programs = std::move(programs),
                                            .symbol = [&](Addr a) { return simulation.symbol(a); },
                                            .line_symbol = [&](LineAddr l) { return simulation.symbol(l); },
                                            .has_source = [&](Addr a) { return simulation.has_source(a); }}));
  if (series != nullptr) directory.write("series.json", series->json());
  directory.write("summary.json", summary_json(summary));
}

/// What a person reads at the end: notes, the summary, what waits for what, and last why the run ended.
std::string closing_text(const SummaryInput& summary, const std::vector<std::string>& notes,
                         bool with_summary) {
  std::string text;
  for (const std::string& note : notes) text += fmt::format("rubato-chip: note: {}\n", note);
  if (with_summary) text += summary_text(summary);
  text += summary.outcome.details;
  if (!text.empty() && text.back() != '\n') text += '\n';
  std::string sentence = summary.outcome.sentence;
  const ExitCode code = exit_code(summary.outcome, summary.check);
  if (sentence.empty() && code == ExitCode::check_failed) {
    sentence = summary.check == CheckVerdict::failed
                   ? "the program's own check failed"
                   : fmt::format("the program exited with status {}", summary.outcome.guest_status);
  }
  if (sentence.empty() && code == ExitCode::interrupted) sentence = "interrupted";
  if (!sentence.empty()) text += fmt::format("rubato-chip: {}\n", sentence);
  return text;
}

/// What a trace says of its run.
std::string about(const SessionOptions& options, const std::string& manifest) {
  const nlohmann::json said{{"program", std::filesystem::path(options.program).filename().string()},
                            {"arguments", options.arguments},
                            {"cores", options.config.chip.cores},
                            {"seed", options.config.chip.seed},
                            {"run.toml", manifest}};
  return said.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// As load_mix() reads it.
std::string program_toml(const MixedProgram& program) {
  std::error_code error;
  const auto absolute = [&](const std::string& file) {
    return toml_value(Value{std::filesystem::absolute(file, error).string()});
  };
  std::string out =
      fmt::format("[[program]]\npath = {}\narguments = {}\ncores = \"{}-{}\"\n", absolute(program.path),
                  toml_list(program.arguments), program.first_core, program.first_core + program.cores - 1);
  if (!program.stdin_file.empty()) out += fmt::format("stdin = {}\n", absolute(program.stdin_file));
  if (!program.roi.empty()) out += fmt::format("roi = {}\n", toml_value(Value{program.roi}));
  return out + "\n";
}

/// All of a host file that was written through its descriptor.
std::string read_all(int file) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (off_t at = 0;;) {
    const ssize_t n = ::pread(file, buffer.data(), buffer.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw UsageError("what a program printed cannot be read again: {}", std::strerror(errno));
    if (n == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    at += n;
  }
}

/// What programs side by side printed, but for the first, goes to files of its own.
std::vector<ProgramSummary> collect(const Simulation& simulation, const RunDirectory* directory,
                                    CheckVerdict first) {
  std::vector<ProgramSummary> programs;
  for (ProgramResult& result : simulation.programs()) {
    CheckVerdict check = first;
    if (result.output >= 0) {
      const std::string text = read_all(result.output);
      CheckScanner scanner;
      scanner.add(text);
      check = scanner.verdict();
      if (directory != nullptr) directory->write(output_name(programs.size()), text);
    }
    programs.push_back({std::move(result), check});
  }
  return programs;
}

/// A program whose own check failed is what the run ended with, if nothing is worse.
void add_check(RunOutcome& outcome, const std::vector<ProgramSummary>& programs) {
  if (outcome.code != ExitCode::success) return;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (programs[i].check != CheckVerdict::failed) continue;
    outcome.code = ExitCode::check_failed;
    outcome.sentence = fmt::format("program {} ({}): its own check failed", i + 1, programs[i].result.name);
    return;
  }
}

}  // namespace

std::string run_toml(const SessionOptions& options, const std::string& program_sha256) {
  std::error_code error;
  std::string out = "# A run of rubato-chip: everything needed to repeat it.\n";
  out += "format = 1\n";
  out += fmt::format("version = {}\n", toml_value(Value{std::string(kVersion)}));
  if (options.programs.empty()) {
    out += fmt::format("program = {}\n",
                       toml_value(Value{std::filesystem::absolute(options.program, error).string()}));
    out += fmt::format("program_sha256 = \"{}\"\n", program_sha256);
    out += fmt::format("arguments = {}\n", toml_list(options.arguments));
  }
  out += fmt::format("environment = {}\n", toml_list(options.environment));
  out += fmt::format("directory = {}\n", toml_value(Value{std::filesystem::current_path(error).string()}));
  out += fmt::format("argv0 = {}\n", toml_value(Value{options.argv0}));
  out += fmt::format("sandbox = {}\n", toml_value(Value{options.sandbox}));
  out += fmt::format("seed = {}\n", options.config.chip.seed);
  out += fmt::format("command_line = {}\n\n", toml_list(options.command_line));
  for (const MixedProgram& program : options.programs) out += program_toml(program);
  return out + write_toml(options.config, "config.");
}

ExitCode run_session(const SessionOptions& options, const SimulationFactory& make_simulation) {
  const InterruptGuard interrupts;

  // 1. Everything that can be wrong with the input is found before anything is written.
  const auto simulation = make_simulation(options);
  const StatRegistry& registry = simulation->registry();
  std::unique_ptr<TimeSeries> series;
  if (options.interval != 0)
    series = std::make_unique<TimeSeries>(registry, options.interval, options.series);

  WatchedRange watched;
  if (!options.watch.empty()) {
    watched = parse_watch(options.watch, [&](std::string_view name) -> std::optional<WatchedRange> {
      const auto symbol = simulation->find_symbol(name);
      return symbol ? std::optional(WatchedRange{symbol->first, symbol->second}) : std::nullopt;
    });
  }

  // 2. The directory, from now on marked as incomplete.
  std::unique_ptr<RunDirectory> directory;
  std::unique_ptr<TraceWriter> trace;
  std::unique_ptr<CommitOrder> commits;
  std::unique_ptr<InstructionTrace> instructions;
  std::unique_ptr<Watchpoint> watchpoint;
  if (!options.out.empty()) {
    const std::string program_sha256 =
        options.programs.empty() ? sha256_hex(read_file(options.program)) : std::string();
    directory = std::make_unique<RunDirectory>(options.out);
    const std::string manifest = run_toml(options, program_sha256);
    directory->write("run.toml", manifest);
    if (options.trace) {
      trace = std::make_unique<TraceWriter>(TraceWriter::Options{
          .file = directory->temporary("trace.json.gz"),
          .cores = options.config.chip.cores,
          .cores_per_tile = options.config.chip.cores_per_tile,
          .from = options.trace_from,
          .to = options.trace_cycles ? options.trace_from + *options.trace_cycles : kNever,
          .frequency_mhz = options.config.chip.frequency_mhz,
          .symbol = [&](Addr a) { return simulation->symbol(a); },
          .has_source = [&](Addr a) { return simulation->has_source(a); },
          .about = about(options, manifest)});
      simulation->observe_tasks(trace.get());
      simulation->watch_threads(trace.get());
      simulation->observe_messages(trace.get());
    }
    if (options.commit_order) {
      commits = std::make_unique<CommitOrder>(directory->temporary("commits.tsv.gz"),
                                              [&](Addr a) { return simulation->symbol(a); });
      simulation->observe_tasks(commits.get());
    }
    const auto log_to = [&](const char* file) {
      return InstructionLog::Options{.file = directory->temporary(file),
                                     .cores = options.config.chip.cores,
                                     .symbol = [&](Addr a) { return simulation->symbol(a); }};
    };
    const auto listen = [&](InstructionLog& log) {
      simulation->observe_tasks(&log.tasks());
      simulation->observe_instructions(&log);
    };
    if (options.instructions) {
      instructions = std::make_unique<InstructionTrace>(InstructionTrace::Options{
          log_to("instructions.tsv.gz"), options.trace_from,
          options.trace_cycles ? options.trace_from + *options.trace_cycles : kNever});
      listen(*instructions);
    }
    if (!options.watch.empty()) {
      watchpoint = std::make_unique<Watchpoint>(Watchpoint::Options{log_to("watch.tsv.gz"), watched});
      listen(*watchpoint);
      simulation->watch_fast_forward(watched.first, watched.bytes, watchpoint.get());
    }
  }

  // 3. The run.
  RegionRecorder regions(registry, simulation->cycle_account());
  ProgressReporter progress(
      {.live_line = options.live_line.value_or(::isatty(STDERR_FILENO) == 1) && !options.quiet,
       .directory = options.progress_file ? directory.get() : nullptr});
  MarkedRegions marked(registry, simulation->cycle_account());
  Watcher watcher(regions, marked, series.get(), progress);
  simulation->observe(&watcher, options.interval);
  GuestOutput output({.pass_on = !options.json,
                      .file = directory ? std::optional(directory->temporary("output.txt")) : std::nullopt});
  RunOutcome outcome = simulation->run();
  output.finish();
  const std::vector<ProgramSummary> programs = collect(*simulation, directory.get(), output.verdict());
  add_check(outcome, programs);
  CheckVerdict check = output.verdict();
  for (const ProgramSummary& program : programs) check = std::max(check, program.check);
  const Progress last = simulation->progress();
  progress.finish(last);

  // 4. Results; nothing is published before it is whole, and the mark goes last.
  const StatValues roi = regions.values();
  const StatValues run = read_stats(registry);
  const SummaryInput summary{.program = options.argv0.empty() ? options.program : options.argv0,
                             .config = options.config,
                             .registry = registry,
                             .roi = roi,
                             .run = run,
                             .outcome = outcome,
                             .check = check,
                             .output = output.text(),
                             .total_instructions = last.instructions,
                             .ran_serial = simulation->ran_serial(),
                             .host = {.seconds = progress.seconds(),
                                      .detailed_seconds = watcher.detailed_seconds(),
                                      .peak_mb = peak_megabytes()},
                             .programs = programs};
  std::vector<std::string> notes = simulation->notes();
  if (trace && options.trace_from > last.cycle) {
    notes.push_back(
        fmt::format("the trace is empty: it begins at cycle {} (--trace-from), and the run ended at cycle {}",
                    options.trace_from.value, last.cycle.value));
  }
  if (instructions && instructions->lines() == 0) {
    notes.push_back(
        "instructions.tsv.gz is empty: what runs in fast-forward is not there (--no-ff: everything in "
        "detail)");
  }
  if (watchpoint && watchpoint->lines() == 0) {
    notes.push_back(fmt::format("watch.tsv.gz is empty: nothing accessed the {} bytes at {:#x}",
                                watched.bytes, watched.first));
  }
  if (directory) {
    if (series) series->sample(last.cycle);
    directory->publish("output.txt");
    if (trace) {
      trace->close();
      directory->publish("trace.json.gz");
    }
    if (commits) {
      commits->close();
      directory->publish("commits.tsv.gz");
    }
    if (instructions) {
      instructions->close();
      directory->publish("instructions.tsv.gz");
    }
    if (watchpoint) {
      watchpoint->close();
      directory->publish("watch.tsv.gz");
    }
    write_results(*directory, *simulation, regions, marked, summary, series.get());
    directory->write("log.txt", joined_command(options.command_line) + "\n" + simulation->errors() +
                                    closing_text(summary, notes, true));
    if (outcome.code != ExitCode::interrupted) directory->finish();
  }
  std::fputs(closing_text(summary, notes, !options.quiet && !options.json).c_str(), stderr);
  if (output.lost() != 0) {
    throw UsageError("what the program printed cannot be written: {}", std::strerror(output.lost()));
  }
  if (options.json) {
    const std::string why = print_all(summary_json(summary));
    if (!why.empty()) throw UsageError("cannot write the summary: {}", why);
  }
  return exit_code(outcome, check);
}

}  // namespace rubato::chip
