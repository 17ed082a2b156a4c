// The factory of core models (K69).
// SPDX-License-Identifier: MIT
#include "chip/config/core_models.hpp"

#include <gtest/gtest.h>

#include <string>
#include <typeinfo>
#include <vector>

#include "base/error.hpp"
#include "chip/config/schema.hpp"
#include "tests/chip/core/machine.hpp"

namespace rubato::chip::test {
namespace {

#define NAME(name) #name,
const std::vector<std::string> kNames{RUBATO_CORE_MODELS(NAME)};
#undef NAME

TEST(CoreModels, EachOneOfTheListComputesTheSameAndIsAnother) {
  std::vector<const std::type_info*> types;
  for (const std::string& name : kNames) {
    Machine m([&](Config& c) { c.core.model = name; });
    m.x(5) = 20;
    m.emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
    m.emit("add", {.rd = 6, .rs1 = 5, .rs2 = 5});
    m.run();
    EXPECT_EQ(m.x(6), 42u) << name;
    EXPECT_EQ(m.pipeline->counters().instructions, 2u) << name;
    const CoreModel& model = *m.model;
    for (const std::type_info* other : types) EXPECT_NE(*other, typeid(model)) << name;
    types.push_back(&typeid(model));
  }
  EXPECT_GE(types.size(), 2u);
}

TEST(CoreModels, TheKeyTakesTheNamesOfTheListAndNoOther) {
  const Key* const key = find_key("core.model");
  ASSERT_NE(key, nullptr);
  Config config;
  for (const std::string& name : kNames) {
    assign_text(config, *key, name, "test");
    EXPECT_EQ(config.core.model, name);
  }
  try {
    assign_text(config, *key, "sideways", "test");
    ADD_FAILURE() << "assigned";
  } catch (const UsageError& e) {
    for (const std::string& name : kNames) EXPECT_NE(std::string(e.what()).find(name), std::string::npos);
  }
}

}  // namespace
}  // namespace rubato::chip::test
