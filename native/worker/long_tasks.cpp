// SPDX-License-Identifier: MIT
#include "native/worker/long_tasks.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <typeinfo>

#include "base/function_names.hpp"
#include "native/clock.hpp"
#include "rubato/engine/native_actors.hpp"

namespace rubato::inline v0::native {

namespace {

/// Function of a task; of a turn the behavior, and the message whose handler took longest.
std::string name_of(const engine::TaskCode& code, std::uint64_t first_word) {
  if (code.run != engine::run_actor_turn)
    return engine::function_name(reinterpret_cast<const void*>(first_word), *code.type);
  const std::string behavior = engine::function_name(nullptr, *code.type);
  const auto* const message = reinterpret_cast<const std::type_info*>(first_word);
  return message == nullptr ? behavior : behavior + " handling " + engine::function_name(nullptr, *message);
}

}  // namespace

void LongTasks::note(const engine::TaskCode& code, std::uint64_t first_word, std::uint64_t took) {
  const std::lock_guard lock(mutex_);
  try {
    const bool is_told_apart = code.is_function_pointer || code.run == engine::run_actor_turn;
    Noted& noted = by_code_[{&code, is_told_apart ? first_word : 0}];
    ++noted.count;
    noted.longest = std::max(noted.longest, took);
  } catch (const std::bad_alloc&) {  // it is counted, without a name
  }
}

std::vector<LongTask> LongTasks::list() {
  const std::lock_guard lock(mutex_);
  std::map<std::string, LongTask> by_name;  // one function may be several codes
  for (const auto& [task, noted] : by_code_) {
    const std::string name = name_of(*task.first, task.second);
    LongTask& entry = by_name.try_emplace(name, LongTask{name}).first->second;
    entry.count += noted.count;
    const double seconds = static_cast<double>(noted.longest) / ticks_per_microsecond() / 1e6;
    entry.longest_seconds = std::max(entry.longest_seconds, seconds);
  }
  std::vector<LongTask> list;
  for (auto& [name, entry] : by_name) list.push_back(std::move(entry));
  std::stable_sort(list.begin(), list.end(), [](const LongTask& a, const LongTask& b) {
    return a.longest_seconds > b.longest_seconds;
  });
  return list;
}

}  // namespace rubato::inline v0::native
