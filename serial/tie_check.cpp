// SPDX-License-Identifier: MIT
#include "serial/tie_check.hpp"

#include "base/function_names.hpp"

namespace rubato::inline v0::engine {

TieCheck* TieCheck::active = nullptr;

bool check_ties() {
  static TieCheck check;
  TieCheck::active = &check;
  return true;
}

void touch(const void* at, unsigned bytes, bool is_write) {
  if (TieCheck::active != nullptr) TieCheck::active->access(at, bytes, is_write);
}

void TieCheck::create(std::uint64_t task, Function function, const TaskTies::Task& traits) {
  tasks_[task] = {function, traits.at};
  ties_.create(task, traits, running_, position_);
}

void TieCheck::begin(std::uint64_t task, const TaskGroup* after) {
  running_ = task;
  position_ = 0;
  ties_.turn(task, position_);
  if (after != nullptr) synchronize(after);
}

void TieCheck::end(const TaskGroup* group) {
  if (group != nullptr) synchronize(group);
  ties_.turn(running_, position_);
  running_ = 0;
}

void TieCheck::synchronize(const void* object) {
  ties_.synchronize(running_, ++position_, reinterpret_cast<std::uintptr_t>(object));
}

void TieCheck::access(const void* at, unsigned bytes, bool is_write) {
  if (running_ == 0) return;
  const auto tie = ties_.access(running_, ++position_, reinterpret_cast<std::uintptr_t>(at), bytes, is_write);
  if (!tie) return;
  std::string first_name, second_name;
  const errors::Task first = describe(tie->first, first_name), second = describe(tie->second, second_name);
  throw TaskError(errors::tie(first, tie->first_writes, second, tie->second_writes, tie->address),
                  second_name, second.timestamp);
}

errors::Task TieCheck::describe(std::uint64_t task, std::string& name) const {
  const Known& known = tasks_.at(task);
  name = function_name(known.function.address, *known.function.type);
  return {name, known.at};
}

void TieCheck::clear() {
  ties_.clear();
  tasks_.clear();
  running_ = 0;
}

}  // namespace rubato::inline v0::engine
