// The checked build of native programs (R12), if RUBATO_CHECKED is defined. An annotated task that
// touches tracked data of another resource, or writes as a reader, ends with a TaskError. The error names
// both places: the access and the task's creation. Without RUBATO_CHECKED everything here is empty. No layout
// depends on it; define it for a whole program. Checks, and their limits: docs/native.md. The slow part is in
// native/check.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "rubato/engine/resource_header.hpp"
#include "rubato/engine/select.hpp"

namespace rubato::inline v0::engine {
struct Task;
/// For the serial engine's checked programs: the running task touches tracked data. Errors: TaskError if
/// another task that is not ordered with it touches them too (serial/tie_check.hpp).
void touch(const void* at, unsigned bytes, bool is_write);
}

namespace rubato::inline v0::engine::check {

/// Declarations of the task that this thread runs. No resource to check: begin == end.
struct Declared {
  std::uintptr_t begin = 0;  ///< of the resource's object
  std::uintptr_t end = 0;
  bool reads = false;
  const Task* task = nullptr;
  std::uint64_t number = 0;  ///< of the task: 1, 2, 3 in order of creation
};

/// Remembers where `task`, whose handle is complete, is created.
void note_created(const Task* task);
/// The task is another block's now.
void note_moved(const Task* from, const Task* to);
Declared declared_by(const Task* task);
/// `maker`: the number of the task that made it; 0 for none.
void note_resource(const void* object, std::size_t bytes, std::uint64_t maker);
void forget_resource(const void* object);
/// Check of an access outside the declared object. Throws TaskError if it is to another resource's object,
/// which the task did not make itself.
void check_outside(const Declared& declared, const void* at, bool is_write);
[[noreturn]] void report_write_of_reader(const Declared& declared);

#if defined(RUBATO_CHECKED) && defined(RUBATO_ENGINE_NATIVE)

inline constexpr bool kIsChecked = true;  ///< what is noted about a task is found by its address
inline constinit thread_local Declared running{};

/// Scope in which a task's function runs.
class TaskScope {
 public:
  explicit TaskScope(const Task* task) { running = declared_by(task); }
  ~TaskScope() { running = {}; }
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;
};

inline void access(const void* at, unsigned, bool is_write) {
  if (running.begin == running.end) return;
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (address < running.begin || address >= running.end) {
    check_outside(running, at, is_write);
  } else if (is_write && running.reads) {
    report_write_of_reader(running);
  }
}
inline void created(const Task* task) { note_created(task); }
inline void made(const void* object, std::size_t bytes) { note_resource(object, bytes, running.number); }
inline void destroyed(const void* object) { forget_resource(object); }

#else

inline constexpr bool kIsChecked = false;
struct TaskScope {
  explicit constexpr TaskScope(const Task*) {}
};
#if defined(RUBATO_ENGINE_SERIAL)
inline void access(const void* at, unsigned bytes, bool is_write) { touch(at, bytes, is_write); }
#else
inline void access(const void*, unsigned, bool) {}
#endif
inline void created(const Task*) {}
inline void made(const void*, std::size_t) {}
inline void destroyed(const void*) {}

#endif

}  // namespace rubato::inline v0::engine::check
