// Every key of the configuration is declared, documented, checked on both sides of its range and kept by
// TOML.
// SPDX-License-Identifier: MIT
#include "chip/config/schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"

namespace rubato::chip {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

template <class Function>
std::string error_of(Function&& function) {
  try {
    function();
  } catch (const UsageError& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "no error";
}
std::string error_of_set(std::string_view text) {
  return error_of([&] {
    Config config;
    apply_override(config, text);
  });
}
std::string error_of_toml(std::string_view text) {
  return error_of([&] {
    Config config;
    load_toml_text(config, text, "x.toml");
  });
}
Config with(std::string_view text) {
  Config config;
  apply_override(config, text);
  return config;
}
std::filesystem::path configs() { return RUBATO_SOURCE_DIR "/configs"; }

TEST(Schema, DocumentsEveryKeyInOneSentenceWithItsSource) {
  std::set<std::string_view> names;
  for (const Key& key : keys()) {
    SCOPED_TRACE(key.name);
    EXPECT_TRUE(names.insert(key.name).second);
    EXPECT_EQ(std::count(key.name.begin(), key.name.end(), '.'), 1);
    EXPECT_TRUE(key.description.ends_with("."));
    EXPECT_FALSE(key.source.empty());
    if (key.type() == KeyType::integer || key.type() == KeyType::number) {
      EXPECT_LT(key.minimum, key.maximum);
    }
  }
}

TEST(Schema, KnowsEveryMemberOfConfig) {
  // A key writes its own bytes only; together keys must reach all members: a Config with every key changed
  // differs from the defaults in each of them.
  std::set<const void*> members;
  Config config;
  for (const Key& key : keys()) {
    const void* member = std::visit([](auto* p) -> const void* { return p; }, key.member(config));
    EXPECT_TRUE(members.insert(member).second) << key.name;
  }
  // Counted by hand in config.hpp: chip 7, core 25, caches 4 x 3 and 9 more, coherence 17, net 4, mem 3, disk
  // 7, task 23, conflict 8, arbiter 2, energy 4, run 18.
  EXPECT_EQ(members.size(), 7u + 25 + 21 + 17 + 4 + 3 + 7 + 23 + 8 + 2 + 4 + 18);
}

TEST(Schema, AcceptsBothEndsOfEveryRangeAndRefusesWhatIsBeyond) {
  for (const Key& key : keys()) {
    SCOPED_TRACE(key.name);
    Config config;
    if (key.type() == KeyType::integer) {
      const auto low = static_cast<std::uint64_t>(key.minimum),
                 high = static_cast<std::uint64_t>(key.maximum);
      assign(config, key, Value{low}, "test");
      EXPECT_EQ(key.get(config), Value{low});
      assign(config, key, Value{high}, "test");
      EXPECT_EQ(key.get(config), Value{high});
      EXPECT_THROW(assign(config, key, Value{high + 1}, "test"), UsageError);
      if (low > 0 && !(key.automatic && low == 1)) {
        EXPECT_THROW(assign(config, key, Value{low - 1}, "test"), UsageError);
      }
      EXPECT_THROW(assign(config, key, Value{1.5}, "test"), UsageError);
      EXPECT_THROW(assign(config, key, Value{true}, "test"), UsageError);
    } else if (key.type() == KeyType::number) {
      assign(config, key, Value{key.minimum}, "test");
      assign(config, key, Value{key.maximum}, "test");
      EXPECT_EQ(key.get(config), Value{key.maximum});
      EXPECT_THROW(assign(config, key, Value{key.maximum * 1.001}, "test"), UsageError);
      EXPECT_THROW(assign(config, key, Value{key.minimum - 0.001}, "test"), UsageError);
    } else if (key.type() == KeyType::choice) {
      for (const auto& choice : key.choices) assign(config, key, Value{std::string(choice)}, "test");
      EXPECT_THROW(assign(config, key, Value{std::string("nonsense")}, "test"), UsageError);
    } else if (key.type() == KeyType::boolean) {
      EXPECT_THROW(assign(config, key, Value{std::uint64_t{1}}, "test"), UsageError);
    }
    EXPECT_NO_THROW(assign(config, key, key.get(Config{}), "test")) << "the default is out of range";
  }
}

TEST(Override, ReadsUnits) {
  EXPECT_EQ(with("l2.size=512KiB").l2.size, 512u << 10);
  EXPECT_EQ(with("l2.size = 1 MiB").l2.size, 1u << 20);
  EXPECT_EQ(with("l2.size=4096").l2.size, 4096u);
  EXPECT_EQ(with("l2.size=4096B").l2.size, 4096u);
  EXPECT_EQ(with("l2.size=auto").l2.size, 0u);
  EXPECT_EQ(with("chip.frequency_mhz=2.5GHz").chip.frequency_mhz, 2500u);
  EXPECT_EQ(with("chip.frequency_mhz=800MHz").chip.frequency_mhz, 800u);
  EXPECT_EQ(with("task.spill_threshold=90%").task.spill_threshold, 0.9);
  EXPECT_EQ(with("run.max_cycles=2e6").run.max_cycles, 2000000u);
  EXPECT_EQ(with("task.task_queue=32entries").task.task_queue, 32u);
  EXPECT_EQ(with("net.contention=false").net.contention, false);
  EXPECT_EQ(with("task.mayspec=nonspec").task.mayspec, "nonspec");
  EXPECT_EQ(with("run.roi=a=b").run.roi, "a=b");
}

TEST(Override, TakesNoZeroForAnAutomaticValue) {
  for (const char* key :
       {"l2.size", "llc.size", "chip.mesh_width", "chip.mesh_height", "chip.cores_per_tile"}) {
    SCOPED_TRACE(key);
    EXPECT_THROW(with(std::string(key) + "=0"), UsageError);
    EXPECT_THROW(with(std::string(key) + "=0.0"), UsageError);
    EXPECT_NO_THROW(with(std::string(key) + "=auto"));
  }
  EXPECT_EQ(error_of_set("l2.size=0"),
            "--set l2.size=0: l2.size is 0, expected 64 to 1073741824 bytes, or auto (such as 65536, 64KiB "
            "or 1MiB)");
  Config config;
  EXPECT_THROW(load_toml_text(config, "[llc]\nsize = 0\n", "x"), UsageError);
}

TEST(Override, SaysWhatIsWrong) {
  EXPECT_EQ(error_of_set("l2.size"), "--set l2.size: expected KEY=VALUE, such as l2.size=512KiB");
  EXPECT_EQ(error_of_set("l2.sise=1"), "--set l2.sise=1: there is no key 'l2.sise'; did you mean l2.size?");
  EXPECT_EQ(error_of_set("contention=false"),
            "--set contention=false: there is no key 'contention'; did you mean net.contention?");
  EXPECT_EQ(error_of_set("quux.frobnicate=1"),
            "--set quux.frobnicate=1: there is no key 'quux.frobnicate'; --help-config lists all");
  EXPECT_EQ(error_of_set("l2.size=512KB"),
            "--set l2.size=512KB: l2.size is '512KB', expected 64 to 1073741824 bytes, or auto "
            "(such as 65536, 64KiB or 1MiB)");
  EXPECT_EQ(error_of_set("l2.size=0.3B"),
            "--set l2.size=0.3B: l2.size is '0.3B', expected 64 to 1073741824 bytes, or auto "
            "(such as 65536, 64KiB or 1MiB)");
  EXPECT_EQ(error_of_set("chip.cores=0"), "--set chip.cores=0: chip.cores is 0, expected 1 to 1024 cores");
  EXPECT_EQ(error_of_set("chip.cores=1025"),
            "--set chip.cores=1025: chip.cores is 1025, expected 1 to 1024 cores");
  EXPECT_EQ(error_of_set("chip.cores=-1"),
            "--set chip.cores=-1: chip.cores is '-1', expected 1 to 1024 cores");
  EXPECT_EQ(
      error_of_set("chip.cores=99999999999999999999999"),
      "--set chip.cores=99999999999999999999999: chip.cores is '99999999999999999999999', expected 1 to 1024 "
      "cores");
  EXPECT_EQ(error_of_set("chip.cores="), "--set chip.cores=: chip.cores is '', expected 1 to 1024 cores");
  EXPECT_EQ(error_of_set("chip.cores=auto"),
            "--set chip.cores=auto: chip.cores is 'auto', expected 1 to 1024 cores");
  EXPECT_EQ(error_of_set("mem.bytes_per_cycle=nan"),
            "--set mem.bytes_per_cycle=nan: mem.bytes_per_cycle is 'nan', expected 0.1 to 1024 bytes/cycle");
  EXPECT_EQ(error_of_set("net.contention=1"),
            "--set net.contention=1: net.contention is '1', expected true or false");
  EXPECT_EQ(error_of_set("task.mayspec=maybe"),
            "--set task.mayspec=maybe: task.mayspec is 'maybe', expected mayspec, spec, nonspec");
}

TEST(Toml, NamesFileLineAndKeyOfEveryMistake) {
  EXPECT_EQ(error_of_toml("[l2]\nsize = 1024\nsise = 3\n"),
            "x.toml:3: there is no key 'l2.sise'; did you mean l2.size?");
  EXPECT_THAT(error_of_toml("\n[l3]\nsize = 1024\n"), StartsWith("x.toml:2: there is no key 'l3'"));
  EXPECT_EQ(error_of_toml("l2 = 5\n"), "x.toml:1: l2 is a section; write [l2] and its keys below");
  EXPECT_EQ(error_of_toml("[l2]\n\nlatency = 0\n"), "x.toml:3: l2.latency is 0, expected 1 to 1000 cycles");
  EXPECT_EQ(error_of_toml("[l2]\nlatency = -4\n"), "x.toml:2: l2.latency is -4, expected 1 to 1000 cycles");
  EXPECT_EQ(error_of_toml("[l2]\nlatency = 1.5\n"), "x.toml:2: l2.latency is 1.5, expected 1 to 1000 cycles");
  EXPECT_EQ(error_of_toml("[l2]\nlatency = true\n"),
            "x.toml:2: l2.latency is true, expected 1 to 1000 cycles");
  EXPECT_EQ(error_of_toml("[l2]\nlatency = \"long\"\n"),
            "x.toml:2: l2.latency is 'long', expected 1 to 1000 cycles");
  EXPECT_EQ(error_of_toml("[l2]\nlatency = [7]\n"),
            "x.toml:2: l2.latency is no single value, expected 1 to 1000 cycles");
  EXPECT_EQ(error_of_toml("[net]\ncontention = 1\n"),
            "x.toml:2: net.contention is 1, expected true or false");
  EXPECT_EQ(error_of_toml("[task]\nmayspec = 1\n"),
            "x.toml:2: task.mayspec is 1, expected mayspec, spec, nonspec");
  EXPECT_THAT(error_of_toml("[l2]\nsize = = 3\n"), StartsWith("x.toml:2: not valid TOML: "));
  EXPECT_THAT(error_of_toml("[l2]\nsize = 64\nsize = 128\n"), StartsWith("x.toml:3: not valid TOML: "));
  EXPECT_EQ(error_of([] {
              Config config;
              load_toml(config, "/nowhere/x.toml");
            }),
            "/nowhere/x.toml: cannot read this configuration file");
}

TEST(Toml, AcceptsUnitsInStringsAndIntegersForNumbers) {
  Config config;
  load_toml_text(
      config, "[l2]\nsize = \"512KiB\"\n[mem]\nbytes_per_cycle = 13\n[chip]\nmesh_width = \"auto\"\n", "x");
  EXPECT_EQ(config.l2.size, 512u << 10);
  EXPECT_EQ(config.mem.bytes_per_cycle, 13.0);
  EXPECT_EQ(config.chip.mesh_width, 0u);
}

void expect_equal(const Config& a, const Config& b) {
  for (const Key& key : keys()) EXPECT_EQ(key.get(a), key.get(b)) << key.name;
}

TEST(Toml, KeepsEveryKeyThroughWritingAndReading) {
  Config config;
  for (const Key& key : keys()) {  // all different from the defaults where a key can be
    if (key.type() == KeyType::integer)
      assign(config, key, Value{static_cast<std::uint64_t>(key.maximum)}, "");
    if (key.type() == KeyType::number) assign(config, key, Value{key.maximum / 3}, "");
    if (key.type() == KeyType::boolean) assign(config, key, Value{!std::get<bool>(key.get(config))}, "");
    if (key.type() == KeyType::choice) assign(config, key, Value{std::string(key.choices.back())}, "");
    if (key.type() == KeyType::text) assign(config, key, Value{std::string("a \"b\" \\ \n\x01 é")}, "");
  }
  Config plain, commented, prefixed;
  load_toml_text(plain, write_toml(config), "plain");
  load_toml_text(commented, write_toml(config, "", true), "commented");
  load_toml_text(prefixed, "format = 1\n" + write_toml(config, "config."), "run.toml");
  expect_equal(plain, config);
  expect_equal(commented, config);
  expect_equal(prefixed, config);
}

TEST(Configs, Espresso256HasEveryKeyAndEqualsTheDefaults) {
  const std::string path = configs() / "espresso-256.toml";
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  for (const Key& key : keys()) {
    const auto dot = key.name.find('.');
    EXPECT_THAT(text, HasSubstr(fmt::format("\n{} = ", key.name.substr(dot + 1)))) << key.name;
  }
  Config other;  // whatever the file does not set stays wrong
  for (const Key& key : keys()) {
    if (key.type() == KeyType::integer)
      assign(other, key, Value{static_cast<std::uint64_t>(key.maximum)}, "");
    if (key.type() == KeyType::number) assign(other, key, Value{key.maximum}, "");
    if (key.type() == KeyType::boolean) assign(other, key, Value{!std::get<bool>(key.get(other))}, "");
    if (key.type() == KeyType::text) assign(other, key, Value{std::string("x")}, "");
  }
  load_toml(other, path);
  expect_equal(other, Config{});
}

TEST(Configs, EverySmallerEspressoIsTheSameMachineWithFewerCores) {
  for (const std::uint32_t cores : {64u, 16u, 4u, 1u}) {
    Config config, expected;
    load_toml(config, configs() / fmt::format("espresso-{}.toml", cores));
    expected.chip.cores = cores;
    expect_equal(config, expected);
    EXPECT_NO_THROW(resolve(config));
  }
}

TEST(HelpConfig, ListsEveryKeyAsTextAndJson) {
  const auto json = nlohmann::json::parse(help_config_json());
  ASSERT_EQ(json.size(), keys().size());
  const std::string text = help_config_text();
  for (std::size_t i = 0; i < keys().size(); ++i) {
    EXPECT_EQ(json[i]["key"], keys()[i].name);
    EXPECT_THAT(text, HasSubstr(fmt::format("{} = ", keys()[i].name)));
    for (const char* field : {"type", "unit", "default", "description"}) EXPECT_TRUE(json[i].contains(field));
    EXPECT_EQ(json[i].contains("range"), json[i]["type"] == "integer" || json[i]["type"] == "number");
    EXPECT_EQ(json[i].contains("choices"), json[i]["type"] == "choice");
  }
  EXPECT_EQ(json[0], nlohmann::json::parse(R"({"key": "chip.cores", "type": "integer", "unit": "cores",
    "default": 256, "range": [1, 1024], "automatic": false, "description": "Cores of the chip.",
    "source": "Espresso, Table II"})"));
}

}  // namespace
}  // namespace rubato::chip
