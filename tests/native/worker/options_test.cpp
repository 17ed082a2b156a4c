// Names of environment variables that are nearly right. R11: no choice is ignored without a word.
// SPDX-License-Identifier: MIT
#include "native/options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "rubato/errors.hpp"

namespace native = rubato::native;

namespace {

/// Error about an environment of this entry and others.
std::string said(const char* entry) {
  const char* const environment[] = {"HOME=/", "RUBATO_WORKERS=2", entry, "RUBATO_TRACE=x", nullptr};
  try {
    rubato::native::check_names(environment);
  } catch (const rubato::TaskError& error) {
    return error.what();
  }
  return "";
}

TEST(Variables, AreRefusedIfTheirNameIsOneLetterAway) {
  EXPECT_EQ(
      said("RUBATO_WORKER=2"),
      "the environment has RUBATO_WORKER, which is no variable of the native engine: RUBATO_WORKERS was "
      "expected");
  for (const char* const entry : {"RUBATO_WORKERSS=", "RUBATO_WORKEES=1", "RUBATO_TRACES=t.json",
                                  "RUBATO_LAGG=on", "RUBATO_OVERSUBSCRIB=1", "RUBATO_TRACESPANS=3"}) {
    EXPECT_NE(said(entry), "") << entry;
  }
}

/// Choices in an environment with these two variables; null: without.
native::Lagging lagging_of(const char* lag, const char* levels) {
  static const char* values[2];
  values[0] = lag;
  values[1] = levels;
  const auto get = [](const char* name) -> const char* {
    if (name == std::string_view("RUBATO_LAG")) return values[0];
    return name == std::string_view("RUBATO_LAG_LEVELS") ? values[1] : nullptr;
  };
  return native::options_from_environment(get).lagging;
}

TEST(Variables, WorkersLagByDefaultAndTurnsWhereItIsAskedFor) {
  using native::Lagging;
  constexpr unsigned kBoth = Lagging::kWorkers | Lagging::kTurns;
  EXPECT_EQ(lagging_of(nullptr, nullptr).kind, Lagging::Kind::on);
  EXPECT_EQ(lagging_of(nullptr, nullptr).levels, Lagging::kWorkers);
  EXPECT_EQ(lagging_of("on", nullptr).levels, kBoth);
  EXPECT_EQ(lagging_of("published", nullptr).levels, kBoth);
  EXPECT_EQ(lagging_of("on", "turns").levels, Lagging::kTurns);
  EXPECT_EQ(lagging_of(nullptr, "turns,workers").levels, kBoth);
  EXPECT_EQ(lagging_of("off", nullptr).kind, Lagging::Kind::off);
}

TEST(Variables, MayHaveAnyOtherName) {
  for (const char* const entry :
       {"RUBATO_LAG=on", "RUBATO_SEED=1", "RUBATO_DATA=/d", "RUBATO_ITM_METHOD=x", "RUBATO_TM_TIMES=1",
        "RUBATO_HOME=/h", "RUBATO=1", "UBATO_WORKERS=2", "X"}) {
    EXPECT_EQ(said(entry), "") << entry;
  }
}

}  // namespace
