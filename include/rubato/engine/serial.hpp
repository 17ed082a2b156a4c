// Engine `serial`: the reference (task model, section "Engine serial"). One thread, timestamp order exact,
// the choice among eligible tasks by seed. Implemented in serial/engine.cpp: link rubato_serial.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "rubato/annotations.hpp"
#include "rubato/engine/resource_header.hpp"
#include "rubato/group.hpp"
#include "rubato/task_type.hpp"

namespace rubato::inline v0 {

namespace serial {
/// The seed of the choices among eligible tasks. At start the environment variable RUBATO_SEED, else 1.
/// Outside run() only.
void set_seed(std::uint64_t seed);
std::uint64_t seed();
/// Tasks run since the program started.
std::uint64_t tasks_run();
/// Measures serial_region(): from construction to destruction.
class SerialClock {
 public:
  SerialClock();
  ~SerialClock();
  SerialClock(const SerialClock&) = delete;
  SerialClock& operator=(const SerialClock&) = delete;
};
}  // namespace serial

namespace engine {

struct GroupState {
  static std::uint64_t& pending(TaskGroup& group) { return group.pending_; }
  static Guard* guard(const TaskGroup* group) { return group != nullptr ? group->guard() : nullptr; }
  /// Sets the guard, before the group has members.
  static void set_guard(TaskGroup& group, Guard* guard) { group.set_guard(guard); }
};

/// A task's function and arguments.
class Body {
 public:
  virtual ~Body() = default;
  virtual void call() = 0;
};

/// Identity of a task for error sentences: the address of a function pointer, or the type of any other
/// callable.
struct Function {
  const void* address;
  const std::type_info* type;
};

void submit(TaskType type, const Annotations& annotations, Function function, std::unique_ptr<Body> body);
void run();
/// Runs the tasks of an algorithm outside tasks: `start` creates one task or none, a member of the group;
/// returns when the group is complete.
void run_group(TaskGroup& group, void (*start)(void*), void* work);
Timestamp timestamp();
bool is_timestamped();
bool is_in_task();
/// Makes the program a checked one from now on. @returns true.
bool check_ties();
#if defined(RUBATO_CHECKED)
inline const bool is_checked = check_ties();
#endif
void retire(ResourceHeader* header);

/// Any callable and its arguments: one allocation.
template <class Callable>
class BodyOf final : public Body {
 public:
  explicit BodyOf(Callable&& callable) : callable_(std::move(callable)) {}
  void call() override { callable_(); }

 private:
  Callable callable_;
};

template <class Callable>
std::unique_ptr<Body> make_body(Callable&& callable) {
  return std::make_unique<BodyOf<Callable>>(std::move(callable));
}

template <class Pointer, class... Parameters, class... Args>
std::unique_ptr<Body> bind_pointer(Pointer function, std::type_identity<void(Parameters...)>, Args... args) {
  return make_body([function, ... a = static_cast<Parameters>(args)] { function(a...); });
}

template <TaskType type, class F, class... Args>
inline void create(F function, const Annotations& annotations, Args... args) {
  if constexpr (std::is_pointer_v<F>) {
    submit(type, annotations, {reinterpret_cast<const void*>(function), &typeid(F)},
           bind_pointer(function, decltype(parameters_of(function)){}, args...));
  } else {
    submit(type, annotations, {nullptr, &typeid(name_type<F>)},
           make_body([f = std::move(function), args...]() mutable {
             static_cast<Called<F, Args...>>(f)(Args(args)...);
           }));
  }
}

}  // namespace engine
}  // namespace rubato::inline v0
