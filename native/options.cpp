// SPDX-License-Identifier: MIT
#include "native/options.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "rubato/errors.hpp"

namespace rubato::inline v0::native {
namespace {

using namespace std::string_view_literals;

constexpr unsigned kMaxWorkers = 1024;
constexpr unsigned kMaxDistance = 63;
constexpr unsigned kMaxSpans = 1u << 28;
constexpr unsigned kMaxStandstill = 1'000'000;

[[noreturn]] void refuse(const char* variable, std::string_view value, std::string_view expected) {
  throw TaskError(std::string(variable) + " is '" + std::string(value) + "', but " + std::string(expected) +
                  " was expected");
}

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool flag(const char* variable, std::string_view text) {
  if (text == "1"sv) return true;
  if (text == "0"sv) return false;
  refuse(variable, text, "0 or 1");
}

PrefetchMode prefetch(const char* variable, std::string_view text) {
  using Kind = PrefetchMode::Kind;
  if (text == "off"sv) return {.kind = Kind::off};
  if (text == "adapt"sv) return {.kind = Kind::adapted};
  const auto distance = number(text);
  if (distance && *distance >= 1 && *distance <= kMaxDistance)
    return {.kind = Kind::fixed, .distance = *distance};
  refuse(variable, text, "off, adapt, or a distance from 1 to 63");
}

double real(const char* variable, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) refuse(variable, text, "a number");
  return value;
}

Lagging::Kind lagging(const char* variable, std::string_view text) {
  using Kind = Lagging::Kind;
  if (text == "off"sv) return Kind::off;
  if (text == "published"sv) return Kind::published;
  if (text == "on"sv) return Kind::on;
  refuse(variable, text, "off, published or on");
}

unsigned lagging_levels(const char* variable, std::string_view text) {
  if (text == "turns"sv) return Lagging::kTurns;
  if (text == "workers"sv) return Lagging::kWorkers;
  if (text == "turns,workers"sv || text == "workers,turns"sv) return Lagging::kTurns | Lagging::kWorkers;
  refuse(variable, text, "turns, workers, or turns,workers");
}

/// Whether it lies in (0, 1), or is 1 where that means something.
void check_share(const char* what, double value, bool may_be_one = false) {
  if (value > 0 && (value < 1 || (may_be_one && value == 1))) return;
  throw TaskError(std::string("lagging's ") + what +
                  (may_be_one ? " is above 0 and at most 1, but " : " lies between 0 and 1, but ") +
                  std::to_string(value) + " was asked for");
}

Synchronization synchronization(const char* variable, std::string_view text) {
  using enum Synchronization;
  if (text == "auto"sv) return automatic;
  if (text == "none"sv) return none;
  if (text == "latch"sv) return latch;
  if (text == "shared-latch"sv) return shared_latch;
  if (text == "optimistic-latch"sv) return optimistic_latch;
  if (text == "optimistic-pool"sv) return optimistic_pool;
  if (text == "pool"sv) return pool;
  refuse(variable, text, "auto, none, latch, shared-latch, optimistic-latch, optimistic-pool or pool");
}

Reclamation reclamation(const char* variable, std::string_view text) {
  if (text == "batch"sv) return Reclamation::batch;
  if (text == "task"sv) return Reclamation::task;
  if (text == "off"sv) return Reclamation::off;
  refuse(variable, text, "batch, task or off");
}

constexpr std::string_view kVariables[] = {
    "RUBATO_WORKERS",
    "RUBATO_OVERSUBSCRIBE",
    "RUBATO_BIND",
    "RUBATO_PREFETCH",
    "RUBATO_SYNC",
    "RUBATO_RECLAIM",
    "RUBATO_TRACE",
    "RUBATO_COUNTERS",
    "RUBATO_TRACE_SPANS",
    "RUBATO_LAG",
    "RUBATO_LAG_DELAYS",
    "RUBATO_LAG_PHI0",
    "RUBATO_LAG_ERROR",
    "RUBATO_LAG_SWITCH",
    "RUBATO_LAG_CONFIDENCE",
    "RUBATO_TASK_MEMORY",
    "RUBATO_STANDSTILL",
    "RUBATO_LAG_LEVELS",
    "RUBATO_LAG_TURN_SWITCH",
    "RUBATO_MINIQUEUE",
    "RUBATO_ACTOR_SWITCH",
};

/// Whether they differ by one letter more, or by another one; not both.
bool is_one_letter_away(std::string_view a, std::string_view b) {
  if (a.size() < b.size()) std::swap(a, b);
  if (a.size() - b.size() > 1) return false;
  const std::size_t same =
      static_cast<std::size_t>(std::mismatch(b.begin(), b.end(), a.begin()).first - b.begin());
  return a != b && a.substr(same + 1) == b.substr(same + (a.size() == b.size() ? 1 : 0));
}

}  // namespace

void check_names(const char* const* environment) {
  if (environment == nullptr) return;  // cleared by the program
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with("RUBATO_"sv)) continue;
    if (std::find(std::begin(kVariables), std::end(kVariables), name) != std::end(kVariables)) continue;
    for (const std::string_view variable : kVariables) {
      if (!is_one_letter_away(name, variable)) continue;
      throw TaskError("the environment has " + std::string(name) +
                      ", which is no variable of the native engine: " + std::string(variable) +
                      " was expected");
    }
  }
}

Options options_from_environment(const char* (*get)(const char*)) {
  Options options;
  if (const char* const text = get("RUBATO_WORKERS")) {
    const auto count = number(text);
    if (!count || *count < 1 || *count > kMaxWorkers)
      refuse("RUBATO_WORKERS", text, "a number from 1 to 1024");
    options.workers = *count;
  }
  if (const char* const text = get("RUBATO_OVERSUBSCRIBE"))
    options.oversubscribe = flag("RUBATO_OVERSUBSCRIBE", text);
  if (const char* const text = get("RUBATO_BIND")) options.bind = flag("RUBATO_BIND", text);
  if (const char* const text = get("RUBATO_PREFETCH")) options.prefetch = prefetch("RUBATO_PREFETCH", text);
  if (const char* const text = get("RUBATO_SYNC"))
    options.synchronization = synchronization("RUBATO_SYNC", text);
  if (const char* const text = get("RUBATO_RECLAIM"))
    options.reclamation = reclamation("RUBATO_RECLAIM", text);
  if (const char* const text = get("RUBATO_TRACE")) options.trace = text;
  if (const char* const text = get("RUBATO_TRACE_SPANS")) {
    const auto count = number(text);
    if (!count || *count > kMaxSpans) refuse("RUBATO_TRACE_SPANS", text, "a number up to 268435456");
    options.trace_spans = *count;
  }
  if (const char* const text = get("RUBATO_STANDSTILL")) {
    const auto seconds = number(text);
    if (!seconds || *seconds > kMaxStandstill)
      refuse("RUBATO_STANDSTILL", text, "a number of seconds up to 1000000");
    options.standstill_seconds = *seconds;
  }
  if (const char* const text = get("RUBATO_LAG")) {
    options.lagging.kind = lagging("RUBATO_LAG", text);
    options.lagging.levels = Lagging::kWorkers | Lagging::kTurns;
  }
  if (const char* const text = get("RUBATO_LAG_LEVELS"))
    options.lagging.levels = lagging_levels("RUBATO_LAG_LEVELS", text);
  if (const char* const text = get("RUBATO_MINIQUEUE")) options.miniqueue = flag("RUBATO_MINIQUEUE", text);
  if (const char* const text = get("RUBATO_LAG_DELAYS")) {
    const auto count = number(text);
    if (!count) refuse("RUBATO_LAG_DELAYS", text, "a number from 4 to 32");
    options.lagging.delays = *count;
  }
  const auto get_real = [&](const char* variable, double& value) {
    if (const char* const text = get(variable)) value = real(variable, text);
  };
  get_real("RUBATO_LAG_PHI0", options.lagging.initial_rate);
  get_real("RUBATO_LAG_CONFIDENCE", options.lagging.confidence);
  get_real("RUBATO_LAG_ERROR", options.lagging.error);
  get_real("RUBATO_LAG_SWITCH", options.lagging.switch_microseconds);
  get_real("RUBATO_LAG_TURN_SWITCH", options.lagging.turn_switch_microseconds);
  return options;
}

bool task_memory_from_malloc(const char* (*get)(const char*)) {
  const char* const text = get("RUBATO_TASK_MEMORY");
  if (text == nullptr || text == "heap"sv) return false;
  if (text == "malloc"sv) return true;
  refuse("RUBATO_TASK_MEMORY", text, "heap or malloc");
}

unsigned actor_switch_ns(const char* (*get)(const char*)) {
  const char* const text = get("RUBATO_ACTOR_SWITCH");
  if (text == nullptr) return 0;
  const auto ns = number(text);
  if (!ns || *ns > 1'000'000) refuse("RUBATO_ACTOR_SWITCH", text, "a number of nanoseconds up to 1000000");
  return *ns;
}

void check_options(const Options& options) {
  const Lagging& lagging = options.lagging;
  check_share("initial rate", lagging.initial_rate, true);
  check_share("confidence", lagging.confidence);
  check_share("error", lagging.error);
  if (lagging.delays < 4 || lagging.delays > 32) {
    throw TaskError("lagging compares 4 to 32 delays, but " + std::to_string(lagging.delays) +
                    " were asked for");
  }
  if (!(lagging.switch_microseconds >= 0 && lagging.switch_microseconds <= 1000)) {
    throw TaskError("the cost of a sleep that lagging is given is at most 1000 us, but " +
                    std::to_string(lagging.switch_microseconds) + " were asked for");
  }
  if (!(lagging.turn_switch_microseconds >= 0 && lagging.turn_switch_microseconds <= 1000)) {
    throw TaskError("the cost of a switch of turns that lagging is given is at most 1000 us, but " +
                    std::to_string(lagging.turn_switch_microseconds) + " were asked for");
  }
  if (lagging.levels == 0 || lagging.levels > (Lagging::kWorkers | Lagging::kTurns)) {
    throw TaskError("lagging has the levels 1 (workers), 2 (turns) and 3 (both), but " +
                    std::to_string(lagging.levels) + " was asked for");
  }
  if (options.workers > kMaxWorkers) {
    throw TaskError("the native engine has at most 1024 workers, but " + std::to_string(options.workers) +
                    " were asked for");
  }
  if (options.trace_spans > kMaxSpans) {
    throw TaskError("a trace keeps at most 268435456 spans of a worker, but " +
                    std::to_string(options.trace_spans) + " were asked for");
  }
  if (options.prefetch.distance < 1 || options.prefetch.distance > kMaxDistance) {
    throw TaskError("the prefetch distance is 1 to 63, but " + std::to_string(options.prefetch.distance) +
                    " was asked for");
  }
}

}  // namespace rubato::inline v0::native
