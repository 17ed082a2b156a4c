// SPDX-License-Identifier: MIT
#include "native/failure.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "base/function_names.hpp"

namespace rubato::inline v0::native {
namespace {

using engine::Task;

std::exception_ptr nested(TaskError&& error, const std::exception_ptr& original) {
  try {
    try {
      std::rethrow_exception(original);
    } catch (...) {
      std::throw_with_nested(std::move(error));
    }
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

std::string name_of(const Task& task) {
  const void* address = nullptr;
  if (task.code->is_function_pointer) std::memcpy(&address, task.words, sizeof(address));
  return engine::function_name(address, *task.code->type);
}

std::optional<std::uint64_t> timestamp_if_any(const Task& task) {
  if (!task.is_timestamped()) return std::nullopt;
  return engine::timestamp_of(&task);
}

void throw_wrong_order(const Task& creator, const Task& child) {
  const std::string parent = name_of(creator);
  const std::string created = name_of(child);
  const auto at = timestamp_if_any(creator);
  const errors::Task p{parent, at};
  const errors::Task c{created, timestamp_if_any(child)};
  throw TaskError(at ? errors::earlier_timestamp(p, c) : errors::timestamp_from_untimestamped(p, c), parent,
                  at);
}

void Failure::add(const std::exception_ptr& error, const Task& task) noexcept {
  const std::lock_guard lock(mutex_);
  if (first_) {
    ++further_;
    return;
  }
  first_ = error;
  is_of_task_ = true;
  timestamp_ = timestamp_if_any(task);
  try {
    function_ = name_of(task);
  } catch (const std::bad_alloc&) {
    function_ = "unknown";  // short enough for a string to need none
  }
}

void Failure::add(const std::exception_ptr& error) noexcept {
  const std::lock_guard lock(mutex_);
  if (first_) return;
  first_ = error;
  is_of_task_ = false;
}

/// With the task's name in it.
std::exception_ptr Failure::named(const std::exception_ptr& first, std::uint64_t further) const {
  const errors::Task task{function_, timestamp_};
  const auto wrap = [&](std::string sentence) {
    return nested(TaskError(errors::and_further(std::move(sentence), further), function_, timestamp_), first);
  };
  try {
    std::rethrow_exception(first);
  } catch (const TaskError& e) {
    if (e.function().empty()) return wrap(errors::in_task(task, e.what()));
    return further == 0 ? first : wrap(e.what());  // it names the task
  } catch (const std::exception& e) {
    return wrap(errors::task_threw(task, e.what()));
  } catch (...) {
    return wrap(errors::task_threw(task, "of an unknown type"));
  }
}

std::string Failure::first() noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (first_) std::rethrow_exception(is_of_task_ ? named(first_, 0) : first_);
  } catch (const std::bad_alloc&) {
  } catch (const std::exception& e) {
    try {
      return e.what();
    } catch (const std::bad_alloc&) {
    }
  }
  return {};
}

std::exception_ptr Failure::take() {
  const std::lock_guard lock(mutex_);
  const std::exception_ptr first = std::exchange(first_, nullptr);
  const std::uint64_t further = std::exchange(further_, 0);
  if (!first || !is_of_task_) return first;
  try {
    return named(first, further);
  } catch (const std::bad_alloc&) {
    return first;
  }
}

}  // namespace rubato::inline v0::native
