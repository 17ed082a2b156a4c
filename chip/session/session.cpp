// SPDX-License-Identifier: MIT
#include "chip/session/session.hpp"

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
#include <optional>
#include <utility>

#include "base/sha256.hpp"
#include "base/standard_output.hpp"
#include "chip/config/schema.hpp"
#include "chip/session/guest_output.hpp"
#include "chip/session/marked_regions.hpp"
#include "chip/session/progress_reporter.hpp"
#include "chip/session/recorders.hpp"
#include "chip/session/run_directory.hpp"
#include "chip/session/snapshot.hpp"
#include "chip/session/stats_json.hpp"
#include "chip/session/summary.hpp"
#include "chip/session/time_series.hpp"
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
                                            .line_blocks = simulation.line_blocks(),
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

/// The text for the user at the end: notes, the summary, the details of the outcome, and last why the run
/// ended.
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

/// Results of programs side by side. The output of each but the first goes to a file of its own.
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

namespace {

/// A run from its options to its exit code. The steps are called once each, in their order.
class Session {
 public:
  /// Finds everything that can be wrong with the input, before anything is written.
  Session(const SessionOptions& options, const SimulationFactory& make_simulation);
  /// Makes the run directory, which from now on is marked as incomplete.
  void open_directory();
  void run();
  /// Writes the results; nothing is published before it is whole, and the mark goes last.
  void publish();
  /// Says how the run ended, to a person and to a program.
  int report();

 private:
  /// The observers of the run, from its beginning on.
  struct Running {
    explicit Running(Session& of);

    RegionRecorder regions;
    ProgressReporter progress;
    MarkedRegions marked;
    Watcher watcher;
    GuestOutput output;
  };
  SummaryInput summary() const;

  const SessionOptions& options_;
  std::unique_ptr<Simulation> simulation_;
  std::unique_ptr<TimeSeries> series_;
  WatchedRange watched_;
  std::unique_ptr<RunDirectory> directory_;
  std::unique_ptr<Recorders> recorders_;
  std::optional<Running> running_;
  // How the run ended.
  RunOutcome outcome_;
  CheckVerdict check_{};
  std::vector<ProgramSummary> programs_;
  Progress last_;
  StatValues roi_, all_;
  HostUse host_;
  std::vector<std::string> notes_;
};

Session::Session(const SessionOptions& options, const SimulationFactory& make_simulation)
    : options_(options), simulation_(make_simulation(options)) {
  if (options.interval != 0)
    series_ = std::make_unique<TimeSeries>(simulation_->registry(), options.interval, options.series);
  if (!options.watch.empty()) {
    watched_ = parse_watch(options.watch, [&](std::string_view name) -> std::optional<WatchedRange> {
      const auto symbol = simulation_->find_symbol(name);
      return symbol ? std::optional(WatchedRange{symbol->first, symbol->second}) : std::nullopt;
    });
  }
}

void Session::open_directory() {
  if (options_.out.empty()) return;
  const std::string program_sha256 =
      options_.programs.empty() ? sha256_hex(read_file(options_.program)) : std::string();
  directory_ = std::make_unique<RunDirectory>(options_.out);
  const std::string manifest = run_toml(options_, program_sha256);
  directory_->write("run.toml", manifest);
  recorders_ = std::make_unique<Recorders>(options_, *simulation_, *directory_, manifest, watched_);
}

Session::Running::Running(Session& of)
    : regions(of.simulation_->registry(), of.simulation_->cycle_account()),
      progress(
          {.live_line = of.options_.live_line.value_or(::isatty(STDERR_FILENO) == 1) && !of.options_.quiet,
           .directory = of.options_.progress_file ? of.directory_.get() : nullptr}),
      marked(of.simulation_->registry(), of.simulation_->cycle_account()),
      watcher(regions, marked, of.series_.get(), progress),
      output({.pass_on = !of.options_.json,
              .file = of.directory_ ? std::optional(of.directory_->temporary("output.txt")) : std::nullopt}) {
}

void Session::run() {
  running_.emplace(*this);
  simulation_->observe(&running_->watcher, options_.interval);
  outcome_ = simulation_->run();
  running_->output.finish();
  programs_ = collect(*simulation_, directory_.get(), running_->output.verdict());
  add_check(outcome_, programs_);
  check_ = running_->output.verdict();
  for (const ProgramSummary& program : programs_) check_ = std::max(check_, program.check);
  last_ = simulation_->progress();
  running_->progress.finish(last_);
  roi_ = running_->regions.values();
  all_ = read_stats(simulation_->registry());
  host_ = {.seconds = running_->progress.seconds(),
           .detailed_seconds = running_->watcher.detailed_seconds(),
           .peak_mb = peak_megabytes()};
  notes_ = simulation_->notes();
  if (recorders_)
    for (std::string& note : recorders_->notes(last_.cycle)) notes_.push_back(std::move(note));
}

SummaryInput Session::summary() const {
  return {.program = options_.argv0.empty() ? options_.program : options_.argv0,
          .config = options_.config,
          .registry = simulation_->registry(),
          .roi = roi_,
          .run = all_,
          .has_region = running_->regions.regions() != 0,
          .outcome = outcome_,
          .check = check_,
          .output = running_->output.text(),
          .total_instructions = last_.instructions,
          .untasked_mode = simulation_->untasked_mode(),
          .host = host_,
          .programs = programs_};
}

void Session::publish() {
  if (!directory_) return;
  if (series_) series_->sample(last_.cycle);
  directory_->publish("output.txt");
  recorders_->publish();
  const SummaryInput in = summary();
  write_results(*directory_, *simulation_, running_->regions, running_->marked, in, series_.get());
  directory_->write("log.txt", joined_command(options_.command_line) + "\n" + simulation_->errors() +
                                   closing_text(in, notes_, true));
  if (outcome_.code != ExitCode::interrupted) directory_->finish();
}

int Session::report() {
  const SummaryInput in = summary();
  std::fputs(closing_text(in, notes_, !options_.quiet && !options_.json).c_str(), stderr);
  if (running_->output.lost() != 0) {
    throw UsageError("what the program printed cannot be written: {}",
                     std::strerror(running_->output.lost()));
  }
  if (options_.json) {
    const std::string why = print_all(summary_json(in));
    if (!why.empty()) throw UsageError("cannot write the summary: {}", why);
  }
  const bool is_guests = outcome_.guest_status != 0 && outcome_.code != ExitCode::interrupted;
  if (options_.guest_status && is_guests) return outcome_.guest_status & 0xff;
  return static_cast<int>(exit_code(outcome_, check_));
}

}  // namespace

int run_session(const SessionOptions& options, const SimulationFactory& make_simulation) {
  const InterruptGuard interrupts;
  Session session(options, make_simulation);
  session.open_directory();
  session.run();
  session.publish();
  return session.report();
}

}  // namespace rubato::chip
