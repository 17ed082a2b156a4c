// The counters as `rubato run --engine native` reads them.
// SPDX-License-Identifier: MIT
#include "native/counters_file.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace rubato::inline v0::native {
namespace {

TEST(CountersFile, DescribesEveryCounterOnce) {
  std::set<std::string> names;
  native::Counters counters;
  for (const CounterDescription& c : counter_descriptions()) {
    ++(counters.*c.value);
    names.insert(c.name);
    EXPECT_EQ(counters.*c.value, 1u) << c.name << " stands for a counter that another name has";
  }
  EXPECT_EQ(names.size(), sizeof(native::Counters) / sizeof(std::uint64_t));
}

TEST(CountersFile, IsOneJsonObjectWithTimesAndValues) {
  native::Counters counters;
  counters.tasks_run = 12'345'678'901;
  const auto document = nlohmann::json::parse(
      counters_as_json({.workers = 2, .runs = 3, .seconds = 0.000000125, .peak_mb = 7.5}, counters, {}));
  EXPECT_EQ(document["workers"], 2);
  EXPECT_EQ(document["runs"], 3);
  EXPECT_DOUBLE_EQ(document["seconds"], 0.000000125);
  EXPECT_DOUBLE_EQ(document["peak_mb"], 7.5);
  for (const auto& c : document["counters"]) {
    EXPECT_EQ(c["value"], c["name"] == "tasks_run" ? 12'345'678'901u : 0u);
    EXPECT_FALSE(c["description"].get<std::string>().empty());
  }
  EXPECT_TRUE(document["long_tasks"].empty());
}

TEST(CountersFile, NamesLongTasksTheFirstSixteen) {
  std::vector<native::LongTask> long_tasks{{"visit<\"a\">(Vertex*)", 2, 0.0141}};
  for (int i = 0; i < 100; ++i) long_tasks.push_back({"f" + std::to_string(i) + "()", 1, 0.011});
  const auto document = nlohmann::json::parse(counters_as_json({}, {}, long_tasks))["long_tasks"];
  ASSERT_EQ(document.size(), 16u);
  EXPECT_EQ(document[0]["function"], "visit<\"a\">(Vertex*)");
  EXPECT_EQ(document[0]["count"], 2);
  EXPECT_DOUBLE_EQ(document[0]["longest_seconds"], 0.0141);
  EXPECT_EQ(document[15]["function"], "f14()");
}

TEST(CountersFile, CountsActorsWhereThereAreAny) {
  const ActorCounters actors{.messages_handled = 7,
                             .messages_allocated = 2,
                             .spawned = 3,
                             .stopped = 1,
                             .dead_letters = {1, 0, 4, 0, 0}};
  const auto values = [](const ActorCounters& counters) {
    std::map<std::string, std::uint64_t> by_name;
    const auto document = nlohmann::json::parse(counters_as_json({}, {}, {}, counters));
    for (const auto& c : document["counters"]) by_name[c["name"]] = c["value"];
    return by_name;
  };
  EXPECT_FALSE(values({}).contains("actors_spawned"));
  const auto by_name = values(actors);
  EXPECT_EQ(by_name.at("actors_spawned"), 3u);
  EXPECT_EQ(by_name.at("actors_stopped"), 1u);
  EXPECT_EQ(by_name.at("messages_handled"), 7u);
  EXPECT_EQ(by_name.at("messages_allocated"), 2u);
  EXPECT_EQ(by_name.at("dead_letters"), 5u);
}

}  // namespace
}  // namespace rubato::inline v0::native
