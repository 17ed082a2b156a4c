// Meaning of the command line, and the sentence for everything that is wrong with it (cli.md).
// SPDX-License-Identifier: MIT
#include "chip/session/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "chip/config/schema.hpp"
#include "tests/temporary_folder.hpp"

namespace rubato::chip {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Words = std::vector<std::string>;

CommandLine parse(Words words) {
  words.insert(words.begin(), "rubato-chip");
  return parse_command_line(words);
}
std::string error_of(const Words& words) {
  try {
    parse(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(CommandLine, LeavesEverythingBehindTheProgramToTheGuest) {
  const auto s = parse({"--cores", "4", "prog", "--seed", "7", "-x", "--", "y"}).session;
  EXPECT_EQ(s.program, "prog");
  EXPECT_THAT(s.arguments, ElementsAre("--seed", "7", "-x", "--", "y"));
  EXPECT_EQ(s.config.chip.cores, 4u);
  EXPECT_EQ(s.config.chip.seed, 1u);
}

TEST(CommandLine, AcceptsADoubleDashBeforeOrBehindTheProgram) {
  EXPECT_EQ(parse({"--json", "--", "prog", "a"}).session.program, "prog");
  EXPECT_THAT(parse({"--json", "--", "prog", "a"}).session.arguments, ElementsAre("a"));
  EXPECT_THAT(parse({"prog", "--", "--json"}).session.arguments, ElementsAre("--json"));
  EXPECT_THAT(parse({"--", "prog", "--", "--", "x"}).session.arguments, ElementsAre("--", "x"));
  EXPECT_THAT(parse({"prog"}).session.arguments, IsEmpty());
}

TEST(CommandLine, ReadsEveryOption) {
  const auto s = parse({"--set",
                        "l2.size=512KiB",
                        "--set=net.contention=false",
                        "--out",
                        "dir",
                        "--seed=9",
                        "--trace",
                        "--trace-from",
                        "1e3",
                        "--trace-cycles",
                        "50",
                        "--interval",
                        "200",
                        "--series",
                        "tile.*",
                        "--series",
                        "chip.*",
                        "--max-cycles",
                        "1e6",
                        "--roi",
                        "work",
                        "--no-ff",
                        "--warm",
                        "--sandbox",
                        "box",
                        "--env",
                        "A=b",
                        "--progress",
                        "none",
                        "--quiet",
                        "prog"})
                     .session;
  EXPECT_EQ(s.config.l2.size, 512u << 10);
  EXPECT_FALSE(s.config.net.contention);
  EXPECT_EQ(s.config.chip.seed, 9u);
  EXPECT_EQ(s.config.run.max_cycles, 1000000u);
  EXPECT_EQ(s.config.run.roi, "work");
  EXPECT_FALSE(s.config.run.fast_forward);
  EXPECT_TRUE(s.config.run.warm);
  EXPECT_EQ(s.out, "dir");
  EXPECT_TRUE(s.trace);
  EXPECT_EQ(s.trace_from, Cycle{1000});
  EXPECT_EQ(s.trace_cycles, 50u);
  EXPECT_EQ(s.interval, 200u);
  EXPECT_THAT(s.series, ElementsAre("tile.*", "chip.*"));
  EXPECT_EQ(s.sandbox, "box");
  EXPECT_THAT(s.environment, ElementsAre("A=b"));
  EXPECT_FALSE(s.progress_file);
  EXPECT_TRUE(s.quiet);
  EXPECT_FALSE(s.json);
}

TEST(CommandLine, PutsOptionsBeforeSettingsBeforeTheFile) {
  const TemporaryFolder folder;
  const std::string file = folder.write("test.toml", "[chip]\ncores = 8\nseed = 2\n[l2]\nways = 4\n");
  const auto s = parse({"--cores", "16", "--config", file, "--set", "chip.seed=3", "p"}).session;
  EXPECT_EQ(s.config.chip.cores, 16u);
  EXPECT_EQ(s.config.chip.seed, 3u);
  EXPECT_EQ(s.config.l2.ways, 4u);
}

TEST(CommandLine, SaysWhatIsWrong) {
  EXPECT_EQ(error_of({}), "no PROGRAM given; see --help");
  EXPECT_EQ(error_of({"--json"}), "no PROGRAM given; see --help");
  EXPECT_EQ(error_of({"--cofnig", "x"}), "there is no option --cofnig, did you mean --config?; see --help");
  EXPECT_EQ(error_of({"--zzzzzzzz", "x"}), "there is no option --zzzzzzzz; see --help");
  EXPECT_EQ(error_of({"--cores", "0", "p"}), "--cores 0: chip.cores is 0, expected 1 to 1024 cores");
  EXPECT_EQ(error_of({"--cores", "1025", "p"}), "--cores 1025: chip.cores is 1025, expected 1 to 1024 cores");
  EXPECT_EQ(error_of({"--cores", "many", "p"}),
            "--cores many: chip.cores is 'many', expected 1 to 1024 cores");
  EXPECT_EQ(error_of({"--seed", "-1", "p"}), "--seed -1: chip.seed is '-1', expected 0 to 2^53 - 1");
  EXPECT_EQ(error_of({"--trace", "p"}), "--trace needs --out DIR: the trace is a file of the run directory");
  EXPECT_EQ(error_of({"--commit-order", "p"}),
            "--commit-order needs --out DIR: the order is a file of the run directory");
  EXPECT_EQ(error_of({"--trace-from", "4", "p"}),
            "--trace-from and --trace-cycles need --trace or --instructions");
  EXPECT_EQ(error_of({"--out", "d", "--trace", "--trace-cycles", "0", "p"}),
            "--trace-cycles is '0', expected a number of cycles, at least 1");
  EXPECT_EQ(error_of({"--out", "d", "--interval", "0", "p"}),
            "--interval is '0', expected a number of cycles, at least 1");
  EXPECT_EQ(error_of({"--out", "d", "--interval", "1.5", "p"}),
            "--interval is '1.5', expected a number of cycles, at least 1");
  EXPECT_EQ(error_of({"--interval", "5", "p"}),
            "--interval needs --out DIR: the series are a file of the run directory");
  EXPECT_EQ(error_of({"--series", "x", "p"}), "--series needs --interval CYCLES");
  EXPECT_EQ(error_of({"--progress", "loud", "p"}), "--progress is 'loud', expected auto, none or json");
  EXPECT_EQ(error_of({"--env", "A", "p"}), "--env A: expected NAME=VALUE");
  EXPECT_EQ(error_of({"--config", "/nowhere.toml", "p"}),
            "/nowhere.toml: cannot read this configuration file");
  EXPECT_EQ(error_of({"--check-config", "/nowhere.toml"}),
            "/nowhere.toml: cannot read this configuration file");
  EXPECT_THAT(error_of({"--out"}), HasSubstr("--out"));
}

TEST(CommandLine, PrintsInsteadOfRunning) {
  EXPECT_EQ(parse({"--version"}).text, "rubato-chip 0.1.0\n");
  EXPECT_THAT(parse({"--help"}).text, HasSubstr("Usage: rubato-chip [OPTIONS] PROGRAM [ARGUMENTS]"));
  EXPECT_THAT(parse({"--help"}).text, HasSubstr("those of an earlier run there are replaced"));
  EXPECT_THAT(parse({"--help"}).text, HasSubstr("the one of a program's input is the program's own"));
  EXPECT_EQ(parse({"--help-config"}).text, help_config_text());
  EXPECT_EQ(parse({"--help-config", "--json"}).text, help_config_json());
  const std::string shown = parse({"--cores", "4", "--show-config"}).text;
  Config config;
  load_toml_text(config, shown, "shown");
  EXPECT_EQ(config.chip.mesh_width, 1u);
  EXPECT_EQ(config.l2.size, 256u << 10);
  EXPECT_FALSE(parse({"--version"}).is_run);
}

}  // namespace
}  // namespace rubato::chip
