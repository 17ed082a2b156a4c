// SPDX-License-Identifier: MIT
#include "chip/session/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "chip/coherence/token/rule_tables.hpp"
#include "chip/config/region_names.hpp"
#include "chip/config/schema.hpp"

namespace rubato::chip {
namespace {

/// The options as they were typed.
struct Typed {
  std::string config, out, argv0, sandbox, roi, check_config, watch, checkpoint, restore, progress = "auto";
  std::string programs;
  std::string cores, seed, max_cycles, trace_from, trace_cycles, interval, gdb;
  std::vector<std::string> set, series, environment;
  bool trace = false, instructions = false, commit_order = false, no_ff = false, fast_forward = false,
       guest_status = false, warm = false, check_replay = false, check_ties = false, json = false,
       quiet = false;
  bool show_config = false, help_config = false, help_coherence = false, help = false, version = false;
};

void declare(CLI::App& app, Typed& t) {
  const auto many = [&](const char* name, std::vector<std::string>& values, const char* text,
                        const char* what) {
    app.add_option(name, values, text)->type_name(what)->allow_extra_args(false);
  };
  app.set_help_flag();
  app.add_option("--config", t.config, "Chip description (TOML), such as configs/espresso-64.toml")
      ->type_name("FILE");
  many("--set", t.set, "Override one key, such as l2.size=512KiB; may repeat", "KEY=VALUE");
  app.add_option("--out", t.out,
                 "Leave the run's results in this directory; those of an earlier run there are replaced")
      ->type_name("DIR");
  app.add_option("--seed", t.seed,
                 "Short for --set chip.seed=N, the chip's seed; the one of a program's input is the "
                 "program's own, behind PROGRAM")
      ->type_name("N");
  app.add_option("--cores", t.cores, "Short for --set chip.cores=N")->type_name("N");
  app.add_option(
         "--programs", t.programs,
         "Instead of PROGRAM: run the programs in this file (TOML) side by side, on cores of their own")
      ->type_name("FILE");
  app.add_flag("--trace", t.trace, "Write trace.json.gz, for Perfetto (needs --out)");
  app.add_flag(
      "--instructions", t.instructions,
      "Write instructions.tsv.gz: what cores execute in detail, instruction by instruction (needs --out)");
  app.add_option("--trace-from", t.trace_from, "First cycle of the trace, and of instructions")
      ->type_name("C");
  app.add_option("--trace-cycles", t.trace_cycles, "Length of the trace, and of instructions")
      ->type_name("N");
  app.add_option("--watch", t.watch,
                 "Write watch.tsv.gz: who accesses this memory in detail, SYMBOL, SYMBOL+OFFSET or an "
                 "address, and :BYTES "
                 "(needs --out)")
      ->type_name("WHAT");
  app.add_flag("--commit-order", t.commit_order,
               "Write commits.tsv.gz: the tasks in the order of their commits (needs --out)");
  app.add_option("--interval", t.interval, "Write series.json: a sample every so many cycles (needs --out)")
      ->type_name("CYCLES");
  many("--series", t.series, "Statistics to sample, such as 'tile.*.l2.misses'; may repeat", "GLOB");
  app.add_option("--max-cycles", t.max_cycles, "Short for --set run.max_cycles=N")->type_name("N");
  app.add_option("--roi", t.roi, "Short for --set run.roi=SYMBOL; @markers: what the program marks")
      ->type_name("SYMBOL");
  app.add_flag("--no-ff", t.no_ff, "Simulate everything in detail");
  app.add_flag(
      "--fast-forward", t.fast_forward,
      "Short for --set run.roi=@none: execute without time, as fast as can be, and count the instructions");
  app.add_flag(
      "--check-replay", t.check_replay,
      "Check the run: replay tasks serially in the order of their commits (exit code 70 if they differ)");
  app.add_flag(
      "--check-ties", t.check_ties,
      "End the run where two tasks touch one word and nothing orders them (2 cores or more; exit code 1)");
  app.add_flag("--warm", t.warm, "Warm the caches in fast-forward");
  app.add_option(
         "--argv0", t.argv0,
         "The program's name for itself (default: the file's own name, without the folders, so that results "
         "do not depend on where it is)")
      ->type_name("NAME");
  app.add_option("--sandbox", t.sandbox, "Confine the guest's files to this directory")->type_name("DIR");
  many("--env", t.environment, "A variable of the guest's environment; may repeat", "NAME=VALUE");
  app.add_option("--checkpoint", t.checkpoint,
                 "Fast-forward until PROGRAM depends on the chip, or to --roi, write that, and end")
      ->type_name("FILE");
  app.add_option("--restore", t.restore,
                 "Go on from a checkpoint of the same PROGRAM and ARGUMENTS, on whatever chip")
      ->type_name("FILE");
  app.add_option(
         "--gdb", t.gdb,
         "Wait for a debugger on this port of localhost (0: any): `target remote :PORT` of gdb-multiarch")
      ->type_name("PORT");
  app.add_option("--progress", t.progress,
                 "auto: a line on a terminal and progress.json; json: progress.json; none")
      ->type_name("auto|none|json");
  app.add_flag("--guest-status", t.guest_status,
               "End with PROGRAM's exit status, or 128 and its signal, instead of 1 or 3");
  app.add_flag("--json", t.json, "Print the summary as JSON and nothing else on stdout");
  app.add_flag("--quiet", t.quiet, "No summary on stderr");
  app.add_flag("--show-config", t.show_config, "Print the resolved configuration and end");
  app.add_option("--check-config", t.check_config, "Check a chip description and end")->type_name("FILE");
  app.add_flag("--help-config", t.help_config,
               "Print every configuration key (with --json: as JSON) and end");
  app.add_flag("--help-coherence", t.help_coherence,
               "Print what the coherence protocols by messages do in each state, as Markdown, and end");
  app.add_flag("-h,--help", t.help, "Print this and end");
  app.add_flag("--version", t.version, "Print the version and end");
}

/// Index of PROGRAM in `words`, or their number: the first word that is no option and no option's value. All
/// later words are the guest's, even if they look like options.
std::size_t find_program(const CLI::App& app, const std::vector<std::string>& words) {
  std::size_t i = 1;
  while (i < words.size()) {
    const std::string& word = words[i];
    if (word.size() < 2 || word[0] != '-' || word == "--") return i;
    const CLI::Option* option = app.get_option_no_throw(word.substr(0, word.find('=')));
    const bool takes_next =
        option != nullptr && option->get_items_expected_max() > 0 && word.find('=') == std::string::npos;
    i += takes_next ? 2 : 1;
  }
  return words.size();
}

/// CLI11's complaint as one sentence of ours.
[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error) {
  const auto* extras = dynamic_cast<const CLI::ExtrasError*>(&error);
  if (extras == nullptr) throw UsageError("{}; see --help", error.what());
  const auto rest = app.remaining();
  const std::string name = rest.empty() ? "" : rest.front().substr(0, rest.front().find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) known.push_back(option->get_name());
  const std::string near = nearest({name, known});
  throw UsageError("there is no option {}{}; see --help", name,
                   near.empty() ? "" : fmt::format(", did you mean {}?", near));
}

void parse_options(CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 wants them
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    refuse(app, error);
  }
}

/// A number of cycles, as `--set` would read it; nothing if the option was not given.
std::optional<std::uint64_t> cycles_of(const char* option, const std::string& text, std::uint64_t minimum) {
  if (text.empty()) return std::nullopt;
  const auto value = parse_count(text);
  if (!value || *value < minimum) {
    throw UsageError("{} is '{}', expected a number of cycles, at least {}", option, text, minimum);
  }
  return value;
}

Config make_config(const Typed& t) {
  Config config;
  if (!t.config.empty()) load_toml(config, t.config);
  for (const std::string& setting : t.set) apply_override(config, setting);
  const auto shorthand = [&](const char* option, const char* key, const std::string& text) {
    if (!text.empty()) assign_text(config, *find_key(key), text, fmt::format("{} {}", option, text));
  };
  shorthand("--cores", "chip.cores", t.cores);
  shorthand("--seed", "chip.seed", t.seed);
  shorthand("--max-cycles", "run.max_cycles", t.max_cycles);
  shorthand("--roi", "run.roi", t.roi);
  if (t.fast_forward) config.run.roi = kNowhere;
  if (t.no_ff) config.run.fast_forward = false;
  if (t.check_replay) config.run.check_replay = true;
  if (t.check_ties) config.run.check_ties = true;
  if (t.warm) config.run.warm = true;
  return resolve(config);
}

void check_combinations(const Typed& t) {
  if (t.progress != "auto" && t.progress != "none" && t.progress != "json") {
    throw UsageError("--progress is '{}', expected auto, none or json", t.progress);
  }
  if (t.trace && t.out.empty())
    throw UsageError("--trace needs --out DIR: the trace is a file of the run directory");
  if (t.instructions && t.out.empty())
    throw UsageError("--instructions needs --out DIR: the trace is a file of the run directory");
  if (!t.watch.empty() && t.out.empty())
    throw UsageError("--watch needs --out DIR: the accesses are a file of the run directory");
  if (t.commit_order && t.out.empty())
    throw UsageError("--commit-order needs --out DIR: the order is a file of the run directory");
  if (!(t.trace_from.empty() && t.trace_cycles.empty()) && !t.trace && !t.instructions)
    throw UsageError("--trace-from and --trace-cycles need --trace or --instructions");
  if (t.fast_forward && (t.no_ff || !t.roi.empty()))
    throw UsageError("--fast-forward executes everything without time; leave out --no-ff and --roi");
  if (!t.checkpoint.empty() && !(t.restore.empty() && t.out.empty() && t.gdb.empty()))
    throw UsageError("--checkpoint writes its file and ends; leave out --restore, --out and --gdb");
  if (!t.programs.empty()) {
    const std::pair<const char*, bool> others[] = {
        {"--trace", t.trace},
        {"--instructions", t.instructions},
        {"--watch", !t.watch.empty()},
        {"--commit-order", t.commit_order},
        {"--check-replay", t.check_replay},
        {"--check-ties", t.check_ties},
        {"--checkpoint", !t.checkpoint.empty()},
        {"--restore", !t.restore.empty()},
        {"--gdb", !t.gdb.empty()},
        {"--argv0", !t.argv0.empty()},
    };
    for (const auto& [option, is_given] : others)
      if (is_given)
        throw UsageError("{} is of one program that has the chip to itself; leave it out with --programs",
                         option);
  }
  if (!t.interval.empty() && t.out.empty()) {
    throw UsageError("--interval needs --out DIR: the series are a file of the run directory");
  }
  if (!t.series.empty() && t.interval.empty()) throw UsageError("--series needs --interval CYCLES");
  for (const std::string& variable : t.environment) {
    if (variable.find('=') == std::string::npos || variable[0] == '=') {
      throw UsageError("--env {}: expected NAME=VALUE", variable);
    }
  }
}

std::string help_text(const CLI::App& app) {
  std::string text = app.help();
  const std::string usage =
      "Usage: rubato-chip [OPTIONS] PROGRAM [ARGUMENTS]\n"
      "       rubato-chip [OPTIONS] --programs FILE\n";
  const auto at = text.find("Usage:");
  if (at != std::string::npos) text.replace(at, text.find('\n', at) + 1 - at, usage);
  return text +
         "\nPROGRAM is a RISC-V (RV64GC) Linux executable; everything behind it belongs to it.\n"
         "Exit codes: 0 success; 1 the program's check failed or it exited non-zero; 2 wrong usage, input "
         "or\n"
         "configuration; 3 the program faulted; 4 no progress or out of simulated time; 130 interrupted.\n";
}

/// The last component of a path to a program: the stack, and so the run, may depend on no other part of it.
std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

SessionOptions make_session(const Typed& t, const std::vector<std::string>& words, std::size_t program) {
  SessionOptions s;
  s.config = make_config(t);
  s.command_line = words;
  if (program < words.size() && words[program] == "--") ++program;
  if (!t.programs.empty()) {
    if (program < words.size())
      throw UsageError("--programs {} says what to run; leave out {}", t.programs, words[program]);
    s.mix = t.programs;
    s.programs = load_mix(s.config, t.programs);
    s.argv0 = file_name(t.programs);
  } else {
    if (program >= words.size()) throw UsageError("no PROGRAM given; see --help");
    s.program = words[program++];
    s.argv0 = t.argv0.empty() ? file_name(s.program) : t.argv0;
    if (program < words.size() && words[program] == "--") ++program;
    s.arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(program), words.end());
  }
  s.environment = t.environment;
  s.sandbox = t.sandbox;
  s.out = t.out;
  s.trace = t.trace;
  s.commit_order = t.commit_order;
  s.instructions = t.instructions;
  s.watch = t.watch;
  s.checkpoint = t.checkpoint;
  s.restore = t.restore;
  s.trace_from = Cycle{cycles_of("--trace-from", t.trace_from, 0).value_or(0)};
  s.trace_cycles = cycles_of("--trace-cycles", t.trace_cycles, 1);
  s.interval = cycles_of("--interval", t.interval, 1).value_or(0);
  if (!t.gdb.empty()) {
    const auto port = parse_count(t.gdb);
    if (!port || *port > 65535) throw UsageError("--gdb is '{}', expected a port, 0 to 65535", t.gdb);
    s.gdb_port = static_cast<std::uint16_t>(*port);
  }
  s.series = t.series;
  s.json = t.json;
  s.quiet = t.quiet;
  s.guest_status = t.guest_status;
  s.progress_file = t.progress != "none";
  if (t.progress != "auto") s.live_line = false;
  return s;
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& words) {
  Typed typed;
  CLI::App app("Runs a RISC-V program on a simulated many-core chip with Rubato's task instructions.",
               "rubato-chip");
  declare(app, typed);
  const std::size_t program = find_program(app, words);
  parse_options(app, {words.begin() + (words.empty() ? 0 : 1),
                      words.begin() + static_cast<std::ptrdiff_t>(std::min(program, words.size()))});

  CommandLine result;
  if (typed.help) {
    result.text = help_text(app);
  } else if (typed.version) {
    result.text = fmt::format("rubato-chip {}\n", kVersion);
  } else if (typed.help_config) {
    result.text = typed.json ? help_config_json() : help_config_text();
  } else if (typed.help_coherence) {
    result.text = coherence_rule_tables();
  } else if (!typed.check_config.empty()) {
    typed.config = typed.check_config;
    make_config(typed);
    result.text = fmt::format("{}: correct\n", typed.check_config);
  } else if (typed.show_config) {
    result.text = write_toml(make_config(typed), "", true);
  } else {
    check_combinations(typed);
    result.is_run = true;
    result.session = make_session(typed, words, program);
  }
  return result;
}

}  // namespace rubato::chip
