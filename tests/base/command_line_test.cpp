// The command line of a program: what options become, what is wrong with them, and in which words.
// SPDX-License-Identifier: MIT
#include "base/command_line.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace {

using rubato::CommandLine;
using rubato::CommandLineError;

enum class Color : unsigned char { red, green };

struct Values {
  std::string text;
  std::vector<std::string> many;
  unsigned number = 7;
  std::optional<std::uint64_t> perhaps;
  double share = 0.5;
  Color color = Color::red;
  bool is_on = false, has_number = false;
};

/// @returns what is wrong, or nothing.
std::string parse(Values& v, std::vector<std::string> words) {
  CommandLine line("program", "A program.");
  const auto text = line.add_option("--text", v.text, "").type_name("TEXT");
  line.add_option("--many", v.many, "");
  line.add_option("--number", v.number, "").check(rubato::whole_number).range(1u, 9u).marks(v.has_number);
  line.add_option("--perhaps", v.perhaps, "").excludes(text);
  line.add_option("--share", v.share, "").check(rubato::positive_number);
  line.add_choice<Color>("--color", v.color, {{"red", Color::red}, {"green", Color::green}}, "");
  line.add_flag("--on", v.is_on, "");
  words.insert(words.begin(), "program");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  try {
    if (!line.parse(static_cast<int>(arguments.size()), arguments.data())) return "help";
    line.refuse_empty_values();
  } catch (const CommandLineError& e) {
    std::string sentence = e.what();
    for (const std::string& word : e.unexpected) sentence += " [" + word + "]";
    return sentence;
  }
  return {};
}

TEST(CommandLine, LeavesWhatIsNotGivenAsItIs) {
  Values v;
  EXPECT_EQ(parse(v, {}), "");
  EXPECT_EQ(v.number, 7u);
  EXPECT_FALSE(v.perhaps || v.is_on || v.has_number);
}

TEST(CommandLine, SetsValuesOfEveryKind) {
  Values v;
  EXPECT_EQ(parse(v, {"--many", "a", "--number=3", "--many", "b", "--perhaps", "18446744073709551615",
                      "--share", "0.25", "--color", "green", "--on"}),
            "");
  EXPECT_EQ(v.many, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(v.number, 3u);
  EXPECT_EQ(v.perhaps, ~std::uint64_t{0});
  EXPECT_EQ(v.share, 0.25);
  EXPECT_EQ(v.color, Color::green);
  EXPECT_TRUE(v.is_on && v.has_number);
}

TEST(CommandLine, SaysWhatIsWrong) {
  Values v;
  EXPECT_EQ(parse(v, {"--number", "1.5"}), "--number: '1.5' is not a whole number");
  EXPECT_EQ(parse(v, {"--number", "18446744073709551616"}),
            "--number: '18446744073709551616' is larger than 2^64 - 1");
  EXPECT_NE(parse(v, {"--number", "10"}), "");
  EXPECT_EQ(parse(v, {"--share", "-1"}), "--share: '-1' is not a positive number");
  EXPECT_EQ(parse(v, {"--color", "blue"}), "--color: 'blue' is none of red|green");
  EXPECT_NE(parse(v, {"--text", "x", "--perhaps", "1"}), "");
  EXPECT_EQ(parse(v, {"--text", ""}), "--text has an empty value: write --text TEXT, or leave it out");
}

TEST(CommandLine, NamesUnexpectedWordsInTheirOrder) {
  Values v;
  const std::string sentence = parse(v, {"one", "--on", "two"});
  EXPECT_EQ(sentence.substr(sentence.find('[')), "[one] [two]");
}

TEST(CommandLine, PrintsHelp) {
  Values v;
  testing::internal::CaptureStdout();
  EXPECT_EQ(parse(v, {"--help"}), "help");
  EXPECT_NE(testing::internal::GetCapturedStdout().find("A program."), std::string::npos);
}

}  // namespace
