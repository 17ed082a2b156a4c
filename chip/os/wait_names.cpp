// SPDX-License-Identifier: MIT
#include "chip/os/wait_names.hpp"

#include <algorithm>
#include <utility>

namespace rubato::chip {
namespace {

constexpr std::string_view kLibraryPrefixes[] = {
    "_",         "pthread_", "lll_",     "futex",           "gomp_",        "GOMP_",
    "omp_",      "std::",    "runtime.", "sync.",           "sem_",         "cnd_",
    "mtx_",      "thrd_",    "syscall",  "clone",           "start_thread", "execute_native_thread_routine",
    "internal/", "do_spin",  "do_wait",  "malloc",          "free",         "sched_yield",
    "nanosleep", "sleep",    "usleep",   "clock_nanosleep", "poll",         "read",
    "write"};

// In this order: a condition variable takes a mutex, and is none.
constexpr std::pair<std::string_view, std::string_view> kWords[] = {
    {"barrier", "barrier"},    {"cond_", "condition"},    {"condition_variable", "condition"},
    {"join", "join"},          {"sem_", "semaphore"},     {"semaphore", "semaphore"},
    {"mutex", "lock"},         {"Mutex", "lock"},         {"rwlock", "lock"},
    {"lll_lock", "lock"},      {"gomp_set_lock", "lock"}, {"omp_set_lock", "lock"},
    {"GOMP_critical", "lock"}, {"spin_lock", "lock"},     {"runtime.lock", "lock"},
};

bool is_library(std::string_view function) {
  if (function.starts_with("std::thread::_State_impl<")) return false;  // the body of a lambda, inlined
  return std::any_of(std::begin(kLibraryPrefixes), std::end(kLibraryPrefixes),
                     [&](std::string_view prefix) { return function.starts_with(prefix); });
}

}  // namespace

std::size_t user_frame(std::span<const std::string> functions) {
  return static_cast<std::size_t>(
      std::find_if(functions.begin(), functions.end(), [](const std::string& f) { return !is_library(f); }) -
      functions.begin());
}

std::string_view describe_wait(ThreadWait::Kind kind, std::span<const std::string> functions) {
  const bool may_be_any = kind == ThreadWait::Kind::futex || kind == ThreadWait::Kind::none;
  if (!may_be_any) return name_of(kind);
  // Only the library's functions tell, those in front of the user's.
  const auto library = functions.first(user_frame(functions));
  for (const auto& [word, what] : kWords)
    for (const std::string& function : library)
      if (function.find(word) != std::string::npos) return what;
  return kind == ThreadWait::Kind::none ? "" : name_of(kind);
}

}  // namespace rubato::chip
