// Mixes of programs: the cores of each, and one sentence with file and line for what is wrong (K80).
// SPDX-License-Identifier: MIT
#include "chip/session/program_mix.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "chip/config/config.hpp"

namespace rubato::chip {
namespace {

Config chip_of(std::uint32_t cores, std::uint32_t cores_per_tile) {
  Config c;
  c.chip.cores = cores;
  c.chip.cores_per_tile = cores_per_tile;
  c.run.roi = "kernel";
  return resolve(c);
}

std::vector<MixedProgram> read(const std::string& text, std::uint32_t cores = 16,
                               std::uint32_t per_tile = 1) {
  return load_mix_text(chip_of(cores, per_tile), text, "mix.toml");
}

std::string error_of(const std::string& text, std::uint32_t cores = 16, std::uint32_t per_tile = 1) {
  try {
    read(text, cores, per_tile);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ProgramMix, CopiesShareTheirCoresEquallyAndInOrder) {
  const auto mix = read(
      "[[program]]\npath = 'a'\ncores = '0'\n"
      "[[program]]\npath = 'b'\ncores = '1-15'\ncopies = 5\narguments = ['-n', '7']\n"
      "stdin = 'in.txt'\nroi = '@markers'\n");
  ASSERT_EQ(mix.size(), 6U);
  EXPECT_EQ(mix[0].path, "a");
  EXPECT_EQ(mix[0].cores, 1U);
  EXPECT_EQ(mix[0].roi, "kernel") << "that of the command line";
  EXPECT_TRUE(mix[0].stdin_file.empty());
  for (std::uint32_t copy = 0; copy < 5; ++copy) {
    EXPECT_EQ(mix[1 + copy].first_core, 1 + copy * 3);
    EXPECT_EQ(mix[1 + copy].cores, 3U);
    EXPECT_EQ(mix[1 + copy].arguments, (std::vector<std::string>{"-n", "7"}));
    EXPECT_EQ(mix[1 + copy].stdin_file, "in.txt");
    EXPECT_EQ(mix[1 + copy].roi, "@markers");
  }
}

TEST(ProgramMix, CoresAreWholeTiles) {
  const auto with = [](const std::string& cores, int copies) {
    return "[[program]]\npath = 'a'\ncores = '" + cores + "'\ncopies = " + std::to_string(copies) + "\n";
  };
  EXPECT_EQ(read(with("4-11", 2), 16, 4)[1].first_core, 8U);
  for (const auto& [cores, copies] : {std::pair("4-10", 1), {"2-5", 1}, {"4-11", 4}})
    EXPECT_THAT(error_of(with(cores, copies), 16, 4), testing::HasSubstr("chip.cores_per_tile")) << cores;
}

TEST(ProgramMix, WhatIsWrongIsSaidWithItsLine) {
  const std::string a = "[[program]]\npath = 'a'\n";
  const std::pair<std::string, const char*> wrong[] = {
      {"", "mix.toml: a mix of programs has a [[program]] for each"},
      {"[program]\npath = 'a'\n", "mix.toml: a mix of programs has a [[program]] for each"},
      {"program = [3]\n", "mix.toml:1: each program is a table, headed by [[program]]"},
      {"[chip]\ncores = 4\n" + a,
       "mix.toml:1: there is no table chip in a mix of programs: each program is "
       "a [[program]]"},
      {a + "core = '1'\n", "mix.toml:3: a program has no core, did you mean cores?"},
      {a, "mix.toml:1: cores is missing: a program needs path and cores"},
      {"[[program]]\ncores = '1'\n", "mix.toml:1: path is missing: a program needs path and cores"},
      {"[[program]]\npath = 3\n", "mix.toml:2: path is no text, as path = \"...\""},
      {a + "cores = 1\n", "mix.toml:3: cores is no text, as cores = \"...\""},
      {a + "cores = '3-1'\n", "mix.toml:3: cores is \"3-1\", expected a range as \"1-15\" or \"3\""},
      {a + "cores = '1-'\n", "mix.toml:3: cores is \"1-\", expected a range as \"1-15\" or \"3\""},
      {a + "cores = '8-16'\n", "mix.toml:3: cores is \"8-16\", but the chip has cores 0 to 15 (chip.cores)"},
      {a + "cores = '1-15'\ncopies = 4\n",
       "mix.toml:3: cores is \"1-15\", which is 15, and 4 copies cannot share them equally"},
      {a + "copies = 0\n", "mix.toml:3: copies is no number from 1 to 16 (chip.cores)"},
      {a + "copies = 17\n", "mix.toml:3: copies is no number from 1 to 16 (chip.cores)"},
      {a + "arguments = 'x'\n", "mix.toml:3: arguments is no list of strings, as [\"--size\", \"10\"]"},
      {a + "arguments = ['x', 3]\n", "mix.toml:3: arguments is no list of strings, as [\"--size\", \"10\"]"},
      {a + "cores = '0-3'\n" + a + "cores = '3-4'\n",
       "mix.toml:6: core 3 has a program already, that of line 1"},
  };
  for (const auto& [text, sentence] : wrong) EXPECT_EQ(error_of(text), sentence) << text;
  EXPECT_THAT(error_of("[[program]\n"), testing::StartsWith("mix.toml:1: "));
  EXPECT_THROW(load_mix(chip_of(4, 1), "/no/such/file"), UsageError);
}

TEST(ProgramMix, ARunsManifestIsOneToo) {
  const auto mix =
      read("format = 1\nseed = 3\n[[program]]\npath = 'a'\ncores = '0-1'\n[config.chip]\ncores = 16\n");
  ASSERT_EQ(mix.size(), 1U);
  EXPECT_EQ(mix[0].cores, 2U);
}

}  // namespace
}  // namespace rubato::chip
