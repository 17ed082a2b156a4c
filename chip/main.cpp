// rubato-chip: runs a RISC-V program on the simulated chip (cli.md). Joins the command line, a session and
// the chip.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/standard_output.hpp"
#include "chip/cache/host_memory.hpp"
#include "chip/chip.hpp"
#include "chip/debug/gdb_server.hpp"
#include "chip/process_options.hpp"
#include "chip/program/program.hpp"
#include "chip/session/command_line.hpp"
#include "chip/session/session.hpp"

namespace rubato::chip {
namespace {

class ChipSimulation final : public Simulation {
 public:
  explicit ChipSimulation(const SessionOptions& options)
      : files_(options.programs), chip_(make_chip(options)) {
    if (!options.restore.empty()) chip_.restore_checkpoint(options.restore, process_options(options));
    if (!options.gdb_port) return;
    debugger_.emplace(*options.gdb_port);
    chip_.debug(*debugger_);
  }
  ChipSimulation(const ChipSimulation&) = delete;  // its process knows it
  ChipSimulation& operator=(const ChipSimulation&) = delete;

  void observe(ChipObserver* observer, Latency interval) override {
    observer_ = observer;
    chip_.observe(observer, interval);
  }
  void observe_tasks(TaskObserver* observer) override { chip_.observe_tasks(observer); }
  void observe_instructions(InstructionObserver* observer) override { chip_.observe_instructions(observer); }
  void watch_fast_forward(Addr first, std::uint64_t bytes, UntimedObserver* observer) override {
    chip_.watch_fast_forward(first, bytes, observer);
  }
  void observe_messages(MessageObserver* observer) override { chip_.observe_messages(observer); }
  RunOutcome run() override {
    if (debugger_) {
      std::fputs(
          fmt::format("rubato-chip: waiting for a debugger: gdb-multiarch PROGRAM -ex 'target remote :{}'\n",
                      debugger_->port())
              .c_str(),
          stderr);
      // In steps: an interrupt that comes just before a wait does not end it.
      while (!debugger_->accept(100))
        if (observer_ != nullptr && !observer_->on_progress(chip_.progress()))
          return {ExitCode::interrupted, 0, "interrupted", {}};
    }
    RunOutcome outcome = chip_.run();
    if (outcome.code != ExitCode::success) return outcome;
    for (std::size_t i = 0; i < chip_.programs(); ++i) {
      const Program& program = chip_.program(i);
      const std::string fault = program.fault_of_region();
      if (fault.empty()) continue;
      // A function that was named and never called is a wrong name. A program without marks may be run for
      // its output, or to see whether it works at all, which fast-forward does soonest.
      const bool is_wrong =
          chip_.programs() == 1 && !program.was_in_detail && program.roi && outcome.guest_status == 0;
      if (is_wrong) return {ExitCode::usage, 0, fault, {}};
      region_notes_.push_back(chip_.programs() == 1 ? fault : fmt::format("{}: {}", program.title(), fault));
    }
    return outcome;
  }
  const StatRegistry& registry() const override { return chip_.registry(); }
  const CycleAccount& cycle_account() const override { return chip_.cycle_account(); }
  const AbortProfile& abort_profile() const override { return chip_.abort_profile(); }
  const LineContention* line_contention() const override { return chip_.line_contention(); }
  const LineBlocks* line_blocks() const override { return chip_.line_blocks(); }
  const ParallelismProfile* parallelism_profile() const override { return &chip_.parallelism_profile(); }
  const CapsuleCalls* capsule_calls() const override { return &chip_.capsule_calls(); }
  const ThreadProfile* thread_profile() const override {
    return chip_.programs() == 1 ? &chip_.thread_profile() : nullptr;  // else see programs()
  }
  void watch_threads(ThreadWatcher* watcher) override { chip_.watch_threads(watcher); }
  Progress progress() const override { return chip_.progress(); }
  std::string_view untasked_mode() const override { return chip_.untasked_mode(); }
  std::string symbol(Addr address) const override { return chip_.symbols().describe(address); }
  bool has_source(Addr address) const override { return chip_.symbols().has_source(address); }
  std::optional<std::pair<Addr, std::uint64_t>> find_symbol(std::string_view name) const override {
    const std::optional<Addr> address = chip_.symbols().find(name);
    if (!address) return std::nullopt;
    const Symbols::Symbol* const symbol = chip_.symbols().at(*address);
    return std::pair{*address, symbol != nullptr ? symbol->size : 0};
  }
  std::string symbol(LineAddr line) const override { return chip_.symbols().describe(line); }
  std::vector<std::string> notes() const override {
    std::vector<std::string> lines = region_notes_;
    for (std::size_t i = 0; i < chip_.programs(); ++i)
      for (const auto& [name, count] : chip_.program(i).process.unknown_calls())
        lines.push_back(fmt::format("{}system call {} is not implemented: refused with ENOSYS {} time{}",
                                    chip_.programs() == 1 ? "" : chip_.program(i).title() + ": ", name, count,
                                    count == 1 ? "" : "s"));
    return lines;
  }
  std::string errors() const override { return errors_; }
  std::vector<ProgramResult> programs() const override {
    std::vector<ProgramResult> results;
    for (std::size_t i = 0; i < chip_.programs() && chip_.programs() > 1; ++i) {
      const Program& program = chip_.program(i);
      results.push_back({.name = program.name(),
                         .first_core = program.place.first_core,
                         .cores = program.place.cores,
                         .cycles = program.cycles,
                         .instructions = program.instructions,
                         .fast_forward_instructions = program.fast_forward.instructions(),
                         .outcome = program.outcome,
                         .threads = &program.profile,
                         .symbol = [&](Addr a) { return program.process.symbols().describe(a); },
                         .has_source = [&](Addr a) { return program.process.symbols().has_source(a); },
                         .output = i == 0 ? -1 : files_.output(i)});
    }
    return results;
  }

 private:
  static constexpr std::size_t kErrorsKept = std::size_t{64} << 10;

  Chip make_chip(const SessionOptions& options) {
    if (options.programs.empty()) return {options.config, heard(process_options(options))};
    std::vector<ProgramPlace> places = program_places(options, files_);
    for (ProgramPlace& place : places) place.process = heard(std::move(place.process));
    return {options.config, std::move(places)};
  }
  ProcessOptions heard(ProcessOptions process) {
    process.stderr_listener = [this](std::span<const std::byte> bytes) { keep_error(bytes); };
    return process;
  }
  /// Keeps the last of what the guest says on stderr.
  void keep_error(std::span<const std::byte> bytes) {
    errors_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (errors_.size() > 2 * kErrorsKept) errors_.erase(0, errors_.size() - kErrorsKept);
  }

  std::string errors_;
  std::vector<std::string> region_notes_;
  MixFiles files_;
  std::optional<GdbServer> debugger_;
  ChipObserver* observer_ = nullptr;
  mutable Chip chip_;  // registry() has no const form
};

std::unique_ptr<Simulation> make_simulation(const SessionOptions& options) {
  return std::make_unique<ChipSimulation>(options);
}

void write_checkpoint(const SessionOptions& options) {
  const ProcessOptions process = process_options(options);
  const CheckpointReport report = Chip(options.config, process).save_checkpoint(options.checkpoint, process);
  if (options.quiet) return;
  const std::string threads = report.threads == 1 ? "" : fmt::format(" and {} threads", report.threads);
  const std::string cores =
      report.cores ? fmt::format("; it is for {} cores, which the program has asked for", *report.cores) : "";
  const std::string text = fmt::format(
      "rubato-chip: {}: {} bytes, for {} bytes of memory{} after {} instructions, in {} before {}{}\n",
      options.checkpoint, report.file_bytes, report.guest_bytes, threads, report.instructions, report.where,
      report.why, cores);
  std::fputs(text.c_str(), stderr);
}

int run(const std::vector<std::string>& words) {
  try {
    const CommandLine command = parse_command_line(words);
    if (command.is_run && !command.session.checkpoint.empty()) {
      write_checkpoint(command.session);
      return 0;
    }
    if (command.is_run) return run_session(command.session, make_simulation);
    const std::string why = print_all(command.text);
    if (!why.empty()) throw UsageError("the output cannot be written: {}", why);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "rubato-chip: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    std::fputs("rubato-chip: the host has not enough memory for this run\n", stderr);
    return static_cast<int>(ExitCode::usage);
  }
}

}  // namespace
}  // namespace rubato::chip

int main(int argc, char** argv) {
  rubato::chip::put_heap_on_huge_pages();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write, which says so
  return rubato::chip::run({argv, argv + argc});
}
