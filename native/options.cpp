// SPDX-License-Identifier: MIT
#include "native/options.hpp"

#include <charconv>
#include <optional>
#include <string_view>

#include "rubato/errors.hpp"

namespace rubato::runtime {
namespace {

using namespace std::string_view_literals;

constexpr unsigned kMaxWorkers = 1024;
constexpr unsigned kMaxDistance = 63;
constexpr unsigned kMaxSpans = 1u << 28;

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

native::PrefetchMode prefetch(const char* variable, std::string_view text) {
  using Kind = native::PrefetchMode::Kind;
  if (text == "off"sv) return {.kind = Kind::off};
  if (text == "adapt"sv) return {.kind = Kind::adapted};
  const auto distance = number(text);
  if (distance && *distance >= 1 && *distance <= kMaxDistance)
    return {.kind = Kind::fixed, .distance = *distance};
  refuse(variable, text, "off, adapt, or a distance from 1 to 63");
}

native::Synchronization synchronization(const char* variable, std::string_view text) {
  using enum native::Synchronization;
  if (text == "auto"sv) return automatic;
  if (text == "none"sv) return none;
  if (text == "latch"sv) return latch;
  if (text == "shared-latch"sv) return shared_latch;
  if (text == "optimistic-latch"sv) return optimistic_latch;
  if (text == "optimistic-pool"sv) return optimistic_pool;
  if (text == "pool"sv) return pool;
  refuse(variable, text, "auto, none, latch, shared-latch, optimistic-latch, optimistic-pool or pool");
}

native::Reclamation reclamation(const char* variable, std::string_view text) {
  if (text == "batch"sv) return native::Reclamation::batch;
  if (text == "task"sv) return native::Reclamation::task;
  if (text == "off"sv) return native::Reclamation::off;
  refuse(variable, text, "batch, task or off");
}

}  // namespace

native::Options options_from_environment(const char* (*get)(const char*)) {
  native::Options options;
  if (const char* const text = get("RUBATO_WORKERS")) {
    const auto count = number(text);
    if (!count || *count < 1 || *count > kMaxWorkers)
      refuse("RUBATO_WORKERS", text, "a number from 1 to 1024");
    options.workers = *count;
  }
  if (const char* const text = get("RUBATO_OVERSUBSCRIBE"))
    options.oversubscribe = flag("RUBATO_OVERSUBSCRIBE", text);
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
  return options;
}

bool task_memory_from_malloc(const char* (*get)(const char*)) {
  const char* const text = get("RUBATO_TASK_MEMORY");
  if (text == nullptr || text == "heap"sv) return false;
  if (text == "malloc"sv) return true;
  refuse("RUBATO_TASK_MEMORY", text, "heap or malloc");
}

void check_options(const native::Options& options) {
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

}  // namespace rubato::runtime
