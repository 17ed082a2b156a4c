// SPDX-License-Identifier: MIT
#include "chip/session/recorders.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

namespace rubato::chip {
namespace {

constexpr const char* kTrace = "trace.json.gz";
constexpr const char* kCommits = "commits.tsv.gz";
constexpr const char* kInstructions = "instructions.tsv.gz";
constexpr const char* kWatch = "watch.tsv.gz";

/// The run, as its trace names it.
std::string about(const SessionOptions& options, const std::string& manifest) {
  const nlohmann::json said{{"program", std::filesystem::path(options.program).filename().string()},
                            {"arguments", options.arguments},
                            {"cores", options.config.chip.cores},
                            {"seed", options.config.chip.seed},
                            {"run.toml", manifest}};
  return said.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Cycle end_of_trace(const SessionOptions& options) {
  return options.trace_cycles ? options.trace_from + *options.trace_cycles : kNever;
}

}  // namespace

Recorders::Recorders(const SessionOptions& options, Simulation& simulation, const RunDirectory& directory,
                     const std::string& manifest, WatchedRange watched)
    : options_(options), simulation_(simulation), directory_(directory), watched_(watched) {
  const auto symbol = [&simulation](Addr a) { return simulation.symbol(a); };
  const auto log_to = [&](const char* file) {
    return InstructionLog::Options{
        .file = directory.temporary(file), .cores = options.config.chip.cores, .symbol = symbol};
  };
  if (options.trace) add_trace(manifest);
  if (options.commit_order) {
    commits_ = std::make_unique<CommitOrder>(directory.temporary(kCommits), symbol);
    simulation.observe_tasks(commits_.get());
  }
  if (options.instructions) {
    instructions_ = std::make_unique<InstructionTrace>(
        InstructionTrace::Options{log_to(kInstructions), options.trace_from, end_of_trace(options)});
    listen(*instructions_);
  }
  if (!options.watch.empty()) {
    watchpoint_ = std::make_unique<Watchpoint>(Watchpoint::Options{log_to(kWatch), watched});
    listen(*watchpoint_);
    simulation.watch_fast_forward(watched.first, watched.bytes, watchpoint_.get());
  }
}

void Recorders::add_trace(const std::string& manifest) {
  trace_ = std::make_unique<TraceWriter>(
      TraceWriter::Options{.file = directory_.temporary(kTrace),
                           .cores = options_.config.chip.cores,
                           .cores_per_tile = options_.config.chip.cores_per_tile,
                           .from = options_.trace_from,
                           .to = end_of_trace(options_),
                           .frequency_mhz = options_.config.chip.frequency_mhz,
                           .symbol = [this](Addr a) { return simulation_.symbol(a); },
                           .has_source = [this](Addr a) { return simulation_.has_source(a); },
                           .about = about(options_, manifest)});
  simulation_.observe_tasks(trace_.get());
  simulation_.watch_threads(trace_.get());
  simulation_.observe_messages(trace_.get());
}

void Recorders::listen(InstructionLog& log) {
  simulation_.observe_tasks(&log.tasks());
  simulation_.observe_instructions(&log);
}

std::vector<std::string> Recorders::notes(Cycle end) const {
  std::vector<std::string> notes;
  if (trace_ && options_.trace_from > end) {
    notes.push_back(
        fmt::format("the trace is empty: it begins at cycle {} (--trace-from), and the run ended at cycle {}",
                    options_.trace_from.value, end.value));
  }
  if (instructions_ && instructions_->lines() == 0) {
    notes.push_back(
        "instructions.tsv.gz is empty: what runs in fast-forward is not there (--no-ff: everything in "
        "detail)");
  }
  if (watchpoint_ && watchpoint_->lines() == 0) {
    notes.push_back(fmt::format("watch.tsv.gz is empty: nothing accessed the {} bytes at {:#x}",
                                watched_.bytes, watched_.first));
  }
  return notes;
}

void Recorders::publish() const {
  const auto complete = [this](auto& recorder, const char* file) {
    if (!recorder) return;
    recorder->close();
    directory_.publish(file);
  };
  complete(trace_, kTrace);
  complete(commits_, kCommits);
  complete(instructions_, kInstructions);
  complete(watchpoint_, kWatch);
}

}  // namespace rubato::chip
