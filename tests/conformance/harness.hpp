// A test harness small enough for every engine, the simulated chip included: named cases, checks that go on
// after a failure, and one last line "check: passed" or "check: failed".
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "rubato/rubato.hpp"

namespace rubato::conformance {

/// A case that needs tasks of one type, or of no particular one (`is_typed` false).
struct Case {
  const char* name;
  bool is_typed;
  TaskType type;
  void (*run)();
  Case* next;
};

/// A misuse that must end with `sentence` (a regular expression): a TaskError on host engines, exit code 3 on
/// the chip. Each runs in a process of its own.
struct ErrorCase {
  const char* name;
  const char* sentence;
  void (*run)();
  ErrorCase* next;
};

Case*& first_case();
ErrorCase*& first_error_case();
void fail(const char* file, int line, const char* what);

struct Registration {
  Registration(Case* c) { append(first_case(), c); }
  Registration(ErrorCase* c) { append(first_error_case(), c); }

 private:
  template <class T>
  static void append(T*& list, T* item) {
    T** end = &list;
    while (*end != nullptr) end = &(*end)->next;
    *end = item;
  }
};

/// Counts from tasks that may run at once.
inline void count(std::uint64_t& counter) { __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED); }

#if !defined(__riscv)
/// Runs the tasks. @returns whether a TaskError ends the run whose sentence has these words
inline bool run_fails_with(const char* words) {
  try {
    run();
  } catch (const TaskError& e) {
    return std::string(e.what()).find(words) != std::string::npos;
  }
  return false;
}
#endif

/// Keeps a task busy, so that tasks that could overlap do.
inline void linger(unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) asm volatile("" : : : "memory");
}

}  // namespace rubato::conformance

/// Outside tasks only.
#define CHECK(condition) \
  if (!(condition)) ::rubato::conformance::fail(__FILE__, __LINE__, #condition)

#define CASE(id)                                                                                      \
  static void id();                                                                                   \
  static ::rubato::conformance::Case id##_case{#id, false, ::rubato::TaskType::nonspec, id, nullptr}; \
  static const ::rubato::conformance::Registration id##_registration(&id##_case);                     \
  static void id()

/// Runs three times, with `type` each of the task types.
#define TYPED_CASE(id)                                                                                     \
  template <::rubato::TaskType type>                                                                       \
  static void id();                                                                                        \
  static ::rubato::conformance::Case id##_cases[] = {                                                      \
      {#id ".nonspec", true, ::rubato::TaskType::nonspec, id<::rubato::TaskType::nonspec>, nullptr},       \
      {#id ".mayspec", true, ::rubato::TaskType::mayspec, id<::rubato::TaskType::mayspec>, nullptr},       \
      {#id ".spec", true, ::rubato::TaskType::spec, id<::rubato::TaskType::spec>, nullptr}};               \
  static const ::rubato::conformance::Registration id##_registrations[] = {&id##_cases[0], &id##_cases[1], \
                                                                           &id##_cases[2]};                \
  template <::rubato::TaskType type>                                                                       \
  static void id()

#define ERROR_CASE(id, expected)                                                  \
  static void id();                                                               \
  static ::rubato::conformance::ErrorCase id##_case{#id, expected, id, nullptr};  \
  static const ::rubato::conformance::Registration id##_registration(&id##_case); \
  static void id()
