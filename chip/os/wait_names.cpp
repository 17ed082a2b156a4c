// SPDX-License-Identifier: MIT
#include "chip/os/wait_names.hpp"

#include <algorithm>
#include <utility>

namespace rubato::chip {
namespace {

// Nothing of a user's is in these, even if its object has debugging information: templates of the standard
// library.
constexpr std::string_view kLibraryNamespaces[] = {"std::",    "__gnu_cxx::", "__gthread", "runtime.",
                                                   "runtime/", "sync.",       "sync/",     "internal/"};

// Prefixes that C, POSIX, OpenMP and the libraries reserve for themselves.
constexpr std::string_view kReservedPrefixes[] = {
    "__",   "_IO_", "_int_", "_dl_", "_nl_",  "_mid_", "_Unwind_", "pthread_", "sem_",
    "cnd_", "mtx_", "thrd_", "omp_", "gomp_", "GOMP_", "GOACC_",   "lll_",     "futex_",
};

constexpr std::string_view kLibraryFunctions[] = {
    "_exit",         "_Exit",
    "_start",        "abort",
    "accept",        "accept4",
    "aligned_alloc", "arena_get2",
    "calloc",        "clock_nanosleep",
    "clone",         "clone3",
    "close",         "create_thread",
    "do_futex_wait", "do_spin",
    "do_wait",       "epoll_pwait",
    "epoll_wait",    "execute_native_thread_routine",
    "exit",          "fclose",
    "fflush",        "fgets",
    "fopen",         "fopen64",
    "fork",          "fprintf",
    "fputs",         "fread",
    "free",          "futex",
    "futex_wait",    "futex_wake",
    "fwrite",        "getline",
    "malloc",        "malloc_consolidate",
    "memalign",      "memcmp",
    "memcpy",        "memmove",
    "memset",        "mmap",
    "mprotect",      "munmap",
    "nanosleep",     "new_do_write",
    "new_heap",      "open",
    "open64",        "pause",
    "poll",          "posix_memalign",
    "ppoll",         "pread",
    "pread64",       "printf",
    "pselect",       "puts",
    "pwrite",        "pwrite64",
    "qsort",         "qsort_r",
    "read",          "readv",
    "realloc",       "recv",
    "recvfrom",      "recvmsg",
    "sched_yield",   "select",
    "send",          "sendmsg",
    "sendto",        "sigsuspend",
    "sigtimedwait",  "sigwait",
    "sigwaitinfo",   "sleep",
    "snprintf",      "sprintf",
    "start_thread",  "syscall",
    "sysmalloc",     "systrim",
    "unlink_chunk",  "usleep",
    "vfprintf",      "vsnprintf",
    "wait",          "wait4",
    "waitpid",       "write",
    "writev",
};

/// A thread that was signalled takes the mutex of the condition variable again.
constexpr std::string_view kMutexOfCondition = "mutex_cond_lock";

// In this order: a condition variable takes a mutex, and is none.
constexpr std::pair<std::string_view, std::string_view> kWords[] = {
    {kMutexOfCondition, "lock"},
    {"barrier", "barrier"},
    {"cond_", "condition"},
    {"condition_variable", "condition"},
    {"join", "join"},
    {"sem_", "semaphore"},
    {"semaphore", "semaphore"},
    {"mutex", "lock"},
    {"Mutex", "lock"},
    {"rwlock", "lock"},
    {"lll_lock", "lock"},
    {"gomp_set_lock", "lock"},
    {"omp_set_lock", "lock"},
    {"GOMP_critical", "lock"},
    {"spin_lock", "lock"},
    {"runtime.lock", "lock"},
};

/// Without what stands behind the name: an offset, a parameter list, marks of copies that compilers make.
std::string_view bare_name(std::string_view function) {
  function = function.substr(0, function.rfind("+0x"));
  for (const std::string_view mark : {".constprop.", ".isra.", ".part.", ".cold", ".lto_priv."})
    function = function.substr(0, function.find(mark));
  return function;
}

bool starts_with_any(std::string_view name, std::span<const std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_library(const Called& call) {
  const std::string_view name = bare_name(call.function);
  if (name.starts_with("std::thread::_State_impl<")) return false;  // the body of a lambda, inlined
  if (starts_with_any(name, kLibraryNamespaces)) return true;
  if (call.has_source) return false;
  return starts_with_any(name, kReservedPrefixes) ||
         std::binary_search(std::begin(kLibraryFunctions), std::end(kLibraryFunctions), name);
}

bool any_has(std::span<const Called> calls, std::string_view word) {
  return std::any_of(calls.begin(), calls.end(),
                     [&](const Called& call) { return call.function.find(word) != std::string::npos; });
}

}  // namespace

std::vector<Called> called_by(std::span<const Addr> chain, const SymbolOf& symbol,
                              const HasSource& has_source) {
  std::vector<Called> calls;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Addr a = i == 0 ? chain[i] : chain[i] - 1;
    calls.push_back({a, symbol(a), has_source && has_source(a)});
  }
  return calls;
}

std::size_t user_frame(std::span<const Called> calls) {
  return static_cast<std::size_t>(std::find_if_not(calls.begin(), calls.end(), is_library) - calls.begin());
}

std::string_view describe_wait(ThreadWait::Kind kind, std::span<const Called> calls) {
  const bool may_be_any = kind == ThreadWait::Kind::futex || kind == ThreadWait::Kind::none;
  if (!may_be_any) return name_of(kind);
  // Only the library's functions tell, those in front of the user's.
  const auto library = calls.first(user_frame(calls));
  for (const auto& [word, what] : kWords)
    if (any_has(library, word)) return what;
  return kind == ThreadWait::Kind::none ? "" : name_of(kind);
}

Addr object_of_wait(Addr word, std::span<const Called> calls, const SymbolOf& symbol) {
  const auto library = calls.first(user_frame(calls));
  if (any_has(library, kMutexOfCondition)) return word;
  // Offsets of the words in glibc's pthread_cond_t (__g_signals), pthread_rwlock_t (__wrphase_futex and
  // __writers_futex) and pthread_barrier (current_round), which begin at multiples of 8.
  const Addr floor = word & ~Addr{7};
  Addr object = word;
  if (any_has(library, "pthread_cond_")) {
    object = floor - 0x28;
  } else if (any_has(library, "pthread_rwlock_")) {
    object = floor - 8;
  } else if (any_has(library, "pthread_barrier_")) {
    object = floor;
  }
  // In another C library the offset may lead out of the variable.
  const std::string name = symbol(word);
  return name.starts_with("0x") || bare_name(symbol(object)) == bare_name(name) ? object : word;
}

}  // namespace rubato::chip
