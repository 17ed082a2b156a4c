// The tables of options: what they say of a value and of a default is what the settings become.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cached/options/option.hpp"
#include "cached/options/values.hpp"
#include "cached/privileges/privileges.hpp"
#include "cached/tls/tls.hpp"

namespace rubato::cached {
namespace {

std::vector<Option> all_options() {
  std::vector<Option> all(options_by_letter().begin(), options_by_letter().end());
  all.insert(all.end(), extended_options().begin(), extended_options().end());
  return all;
}

const Option& find_letter(char letter) {
  for (const Option& option : options_by_letter())
    if (option.letter == letter) return option;
  throw UsageError("no option -{}", letter);
}

std::string name_of(const Option& option) { return option.name ? option.name : std::string{option.letter}; }

/// The lines of `stats settings` before any command.
std::map<std::string, std::string> shown(const Settings& settings) {
  const InForce now{settings, settings.lru, settings.max_bytes, settings.lru_crawler, settings.discipline};
  std::map<std::string, std::string> lines;
  for (const Option& option : all_options())
    if (option.shown.name) {
      EXPECT_TRUE(lines.emplace(option.shown.name, option.shown.text(now)).second) << option.shown.name;
    }
  return lines;
}

/// The sentence by which `text` is refused; empty: it is taken.
std::string refusal(const Option& option, std::string_view text) try {
  Settings settings;
  read_value(option, settings, "NAME", text);
  return {};
} catch (const UsageError& error) {
  return error.what();
}

TEST(Options, LettersAndNamesAreThereOnce) {
  std::set<char> letters;
  std::set<std::string> names, extended;
  for (const Option& option : options_by_letter()) {
    EXPECT_TRUE(!option.letter || letters.insert(option.letter).second) << option.letter;
    EXPECT_TRUE(!option.name || names.insert(option.name).second) << option.name;
  }
  for (const Option& option : extended_options()) {
    EXPECT_TRUE(extended.insert(option.name).second) << option.name;
    EXPECT_EQ(option.letter, 0) << option.name;
  }
}

TEST(Options, EachHasASentenceThatFitsIntoATable) {
  for (const Option& option : all_options()) {
    EXPECT_NE(std::string(option.help), "") << name_of(option);
    EXPECT_EQ(std::string(option.help).find('|'), std::string::npos) << name_of(option);
  }
}

TEST(Options, AGivenDefaultChangesNothing) {
  const auto usual = shown(Settings{});
  for (const Option& option : all_options()) {
    if (*option.usual == '\0' || missing_for(option)) continue;
    const bool is_switch = need_of(option.value) == Need::none;
    EXPECT_EQ(is_switch, std::string(option.usual) == "on") << name_of(option);
    ASSERT_NE(option.shown.name, nullptr) << name_of(option) << " has a default that nothing shows";
    Settings settings;
    read_value(option, settings, "NAME", is_switch ? "" : option.usual);
    EXPECT_EQ(shown(settings), usual) << name_of(option);
  }
}

TEST(Options, ASwitchThatIsOffByDefaultChangesItsLine) {
  const auto usual = shown(Settings{});
  int switches = 0;
  for (const Option& option : all_options()) {
    const bool is_switch = need_of(option.value) == Need::none && !is_refused(option);
    if (!is_switch || *option.usual != '\0' || !option.shown.name || missing_for(option)) continue;
    Settings settings;
    read_value(option, settings, "NAME", "");
    EXPECT_NE(shown(settings).at(option.shown.name), usual.at(option.shown.name)) << name_of(option);
    ++switches;
  }
  EXPECT_GE(switches, 10);
}

TEST(Options, AnOptionWithoutEffectChangesNoLineButItsOwn) {
  const auto usual = shown(Settings{});
  for (const Option& option : all_options()) {
    if (!option.no_effect) continue;
    const bool has_value = need_of(option.value) == Need::needed;
    Settings settings;
    read_value(option, settings, "NAME", !has_value ? "" : refusal(option, "10").empty() ? "10" : "1");
    auto lines = shown(settings);
    if (option.shown.name) lines[option.shown.name] = usual.at(option.shown.name);
    EXPECT_EQ(lines, usual) << name_of(option);
  }
}

struct Bounds {
  const Option& option;
  const char *low, *high;             ///< taken
  const char *too_little, *too_much;  ///< refused
  const char* expected;               ///< on the page
};

TEST(Options, ValuesAreTakenWithinTheirBoundsAlone) {
  const Bounds all[] = {
      {find_letter('t'), "1", "1024", "0", "1025", "1 to 1024"},
      {find_letter('a'), "0", "0777", "-1", "1000", "`MASK`"},
      {find_letter('a'), "7", "777", "", "0778", "`MASK`"},
      {find_letter('p'), "-1", "65535", "-2", "65536", "-1 to 65535"},
      {find_letter('m'), "1m", "16777216", "0", "16777217", "1 to 16777216"},
      {find_letter('f'), "1.01", "100", "1", "100.5", "above 1 to 100"},
      {find_letter('f'), "1.01", "100", "nan", "inf", "above 1 to 100"},
      {find_letter('I'), "1k", "1024m", "1023", "1025m", "1k to 1024m"},
      {*find_extended("hashpower"), "12", "32", "11", "33", "12 to 32"},
      {*find_extended("slab_automove"), "0", "2", "-1", "3", "0 to 2; alone: 1"},
      {*find_extended("hot_lru_pct"), "1", "79", "0", "80", "1 to 79"},
      {*find_extended("slab_sizes"), "96-104", "96-1048576", "96-103", "96-1048577", "`N-N-N`"},
      {*find_extended("hash_algorithm"), "murmur3", "xxh3", "", "xxh4", "murmur3, jenkins or xxh3"},
  };
  for (const Bounds& one : all) {
    EXPECT_EQ(refusal(one.option, one.low), "") << name_of(one.option);
    EXPECT_EQ(refusal(one.option, one.high), "") << name_of(one.option);
    EXPECT_NE(refusal(one.option, one.too_little), "") << name_of(one.option);
    EXPECT_NE(refusal(one.option, one.too_much), "") << name_of(one.option);
    EXPECT_EQ(expected(one.option), one.expected);
  }
}

TEST(Options, ARefusalIsTheSentenceThatItHasAlwaysBeen) {
  EXPECT_EQ(refusal(find_letter('t'), "0"), "NAME takes a number from 1 to 1024, not '0'");
  EXPECT_EQ(refusal(find_letter('m'), "1g"), "NAME takes a number from 1 to 16777216, not '1g'");
  EXPECT_EQ(refusal(find_letter('f'), "1"), "NAME takes a factor above 1, not '1'");
  EXPECT_EQ(refusal(find_letter('I'), "100"), "NAME takes 1024 to 1073741824 bytes, not '100'");
  EXPECT_EQ(refusal(find_letter('B'), "udp"), "NAME is auto, ascii or binary, not 'udp'");
  EXPECT_EQ(refusal(*find_extended("ext_path"), "x"),
            "NAME: there is no external storage; the cache is in memory only");
}

TEST(Options, OneThatThisBuildLacksIsRefusedByWhatIsMissing) {
  Option option{.name = "ice", .value = takes::Anything{}, .missing = [] { return "this build has no ice"; }};
  EXPECT_EQ(refusal(option, ""), "NAME: this build has no ice");
  option.missing = []() -> const char* { return nullptr; };
  EXPECT_EQ(refusal(option, ""), "");
}

TEST(Options, WhatALibraryDoesIsMissingWithoutItAlone) {
  for (const Option& option : all_options()) {
    const char* const lacked = option.group == Group::tls             ? missing_for_tls()
                               : name_of(option) == "drop_privileges" ? missing_for_privileges()
                                                                      : nullptr;
    EXPECT_STREQ(missing_for(option), lacked) << name_of(option);
  }
  if (missing_for_tls()) return;
  EXPECT_EQ(refusal(*find_extended("ssl_keyformat"), "PKCS"), "NAME is PEM (1) or DER (2), not 'PKCS'");
}

TEST(Options, OfAListOfAddressesTheEmptyOnesAreLeftOut) {
  Settings settings;
  read_value(find_letter('l'), settings, "-l", ",127.0.0.1,,[::1]:5;");
  read_value(find_letter('l'), settings, "-l", "localhost");
  EXPECT_EQ(settings.addresses, (std::vector<std::string>{"127.0.0.1", "[::1]:5", "localhost"}));
  for (const char* none : {"", ",", ",;"}) EXPECT_NE(refusal(find_letter('l'), none), "") << none;
}

TEST(Options, AListBehindOIsReadInItsOrder) {
  Settings settings;
  read_extended(settings, "slab_automove=2,,no_lru_crawler,slab_automove,hashpower=20,maxconns_fast=1");
  EXPECT_EQ(settings.automove.load(), 1u);
  EXPECT_FALSE(settings.lru_crawler);
  EXPECT_EQ(settings.hash_power, 20u);
  EXPECT_TRUE(settings.maxconns_fast);
}

}  // namespace
}  // namespace rubato::cached
