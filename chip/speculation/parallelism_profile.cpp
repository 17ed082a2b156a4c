// SPDX-License-Identifier: MIT
#include "chip/speculation/parallelism_profile.hpp"

#include <algorithm>
#include <iterator>

namespace rubato::chip {

std::string_view name_of(TaskWait wait) {
  constexpr std::string_view kNames[] = {"timestamp",   "creator", "throttle", "commits", "promotion",
                                         "system_call", "core",    "other",    "memory"};
  static_assert(std::size(kNames) == kTaskWaits);
  return kNames[static_cast<unsigned>(wait)];
}

// Spilled tasks come last: the reason of their wait is not known until they are read back. There may be
// thousands of them beside the few whose reasons are known.
void ParallelismProfile::add(const Instant& instant) {
  ++samples_;
  if (instant.idle == 0) return;
  ++idle_samples_;
  idle_ += instant.idle;
  constexpr auto memory = static_cast<unsigned>(TaskWait::memory);
  std::uint64_t known = 0;
  for (unsigned w = 0; w < kTaskWaits; ++w)
    if (w != memory) known += instant.waiting[w];
  for (const auto& [locale, waiting] : instant.locales) known += waiting.tasks;

  const double idle = instant.idle;
  double left = idle;
  if (known != 0) {
    const double explained = std::min(idle, static_cast<double>(known));
    const double each = explained / static_cast<double>(known);
    for (unsigned w = 0; w < kTaskWaits; ++w)
      if (w != memory) waiting_[w] += each * static_cast<double>(instant.waiting[w]);
    for (const auto& [locale, waiting] : instant.locales) {
      OfLocale& of = locales_[locale];
      of.idle += each * static_cast<double>(waiting.tasks);
      of.function = waiting.function;
    }
    left -= explained;
  }
  if (known == 0 && instant.waiting[memory] == 0 && instant.running.size() == 1) {
    ++lone_samples_;
    lone_regions_ += instant.region != last_lone_region_ ? 1 : 0;
    last_lone_region_ = instant.region;
  }
  const double spilled = std::min(left, static_cast<double>(instant.waiting[memory]));
  waiting_[memory] += spilled;
  left -= spilled;
  if (left <= 0) return;
  few_[instant.running.size()] += left;
  for (const Running& task : instant.running) {
    OfTask& of = tasks_[task.id];
    of.function = task.function;
    of.idle += left;
    ++of.samples;
  }
}

}  // namespace rubato::chip
