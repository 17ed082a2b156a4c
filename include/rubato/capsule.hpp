// Capsules (P10 to P17): vetted code that speculative tasks on the chip may call to work on untracked
// memory. It runs without conflict checks, ends even if its task is aborted, and registers handlers that undo
// its effects. On host engines a capsule is a plain function. How to write one: docs/capsules.md. Espresso,
// Sec. IV.
// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#if !defined(__riscv)
#include <unistd.h>

#include <utility>
#endif

#include "rubato/task.hpp"
#include "rubato/task_type.hpp"
#include "rubato/untracked.hpp"

namespace rubato::inline v0::capsule {

namespace detail {

template <class T>
constexpr bool is_word() {
  return std::is_integral_v<T> || std::is_enum_v<T> || std::is_pointer_v<T>;
}
/// In one or two registers.
template <class R>
constexpr bool is_result() {
  if constexpr (std::is_class_v<R>) {
    return std::is_trivially_copyable_v<R> && sizeof(R) <= 16 && alignof(R) <= 8;
  } else {
    return std::is_void_v<R> || is_word<R>();
  }
}

template <class Function>
struct is_capsule : std::false_type {};
template <class R, class... Parameters>
struct is_capsule<R(Parameters...)>
    : std::bool_constant<is_result<R>() && sizeof...(Parameters) <= 7 && (is_word<Parameters>() && ...)> {};

}  // namespace detail

#if defined(RUBATO_ENGINE_CHIP)

namespace detail {

template <class Pointer, class... Parameters, class... Args>
inline void on_abort_pointer(Pointer function, std::type_identity<void(Parameters...)>, Args... args) {
  static_assert(
      (engine::is_integer_parameter<Parameters> && ...),
      "a handler given by pointer takes integers, enumerators and pointers: use a lambda for others");
  const std::uint64_t words[5] = {engine::widen(static_cast<Parameters>(args))...};
  engine::instruction::on_abort<sizeof...(Parameters)>(reinterpret_cast<std::uintptr_t>(function), words);
}

}  // namespace detail

/// The running task may still be undone.
inline bool is_speculative() { return engine::instruction::read<engine::instruction::kIsSpeculative>() != 0; }
/// Whether the task was aborted: then the capsule's stores to tracked memory are dropped, and its loads from
/// there may return anything.
inline bool is_doomed() { return engine::instruction::read_now<engine::instruction::kIsDoomed>() != 0; }

/// Makes the rest of the task non-speculative. A task that is speculative starts anew, and the handlers
/// registered so far run. No effect elsewhere.
inline void promote() {
  if (is_speculative()) engine::instruction::promote();
}

/// If the task is aborted, or was, function(args...) runs as a task without timestamp and locale.
template <class F, class... Args>
inline void on_abort(F function, Args... args) {
  static_assert(sizeof...(Args) <= 5 && ((std::is_trivially_copyable_v<Args> && sizeof(Args) <= 8) && ...),
                "a handler takes at most 5 arguments, each trivially copyable and of at most 8 bytes");
  static_assert(std::is_empty_v<F> || std::is_pointer_v<F>,
                "a handler is a function pointer or has no state");
  if constexpr (std::is_pointer_v<F>) {
    detail::on_abort_pointer(function, decltype(engine::parameters_of(function)){}, args...);
  } else {
    const std::uint64_t words[5] = {engine::pack<Args>(args)...};
    engine::instruction::on_abort<sizeof...(Args)>(
        reinterpret_cast<std::uintptr_t>(&engine::Entry<F, Args...>::call), words);
  }
}

/// Whether the caller may have meant [p, p + bytes): it touches neither untracked memory nor the capsule's
/// own frames. A speculative task may pass anything.
inline bool is_callers(const void* p, std::size_t bytes) {
  namespace ins = engine::instruction;
  if (bytes == 0 || !is_speculative() || ins::read_now<ins::kCapsuleDepth>() > 1) return true;
  const auto begin = reinterpret_cast<std::uintptr_t>(p);
  const std::uintptr_t end = begin + bytes;
  if (end < begin) return false;
  const auto touches = [&](std::uintptr_t low, std::uintptr_t high) { return begin < high && low < end; };
  const auto& arena = engine::untracked_arena();
  const std::uintptr_t stack_low = ins::read<ins::kStackLow>();
  return !touches(RUBATO_ADDRESS_OF("__start_rubato_untracked"),
                  RUBATO_ADDRESS_OF("__stop_rubato_untracked")) &&
         !touches(RUBATO_ADDRESS_OF("rubato_capsules_begin"), RUBATO_ADDRESS_OF("rubato_capsules_end")) &&
         !touches(arena.begin, arena.begin == 0 ? 0 : arena.begin + engine::kUntrackedArena) &&
         !touches(stack_low, ins::read_now<ins::kCallerStack>());
}

/// A system call of up to 6 arguments: its result or -errno. `errno`, which is tracked, stays as it is. In a
/// speculative task it is made at once and for good, on untracked memory, the own stack and read-only data. A
/// call that waits leaves the core to other tasks; the task may be aborted meanwhile. A call that needs other
/// memory, takes a lock of the kernel or has to do with signals comes when the task has been promoted.
template <class... Args>
inline std::int64_t system_call(std::int64_t number, Args... args) {
  static_assert(sizeof...(Args) <= 6, "a system call takes at most 6 arguments");
  const auto word = [](auto argument) {
    if constexpr (std::is_pointer_v<decltype(argument)>) {
      return reinterpret_cast<std::uint64_t>(argument);
    } else {
      return static_cast<std::uint64_t>(argument);
    }
  };
  const std::uint64_t words[6] = {word(args)...};
  register std::int64_t a7 asm("a7") = number;
  register std::uint64_t a0 asm("a0") = words[0];
  register std::uint64_t a1 asm("a1") = words[1];
  register std::uint64_t a2 asm("a2") = words[2];
  register std::uint64_t a3 asm("a3") = words[3];
  register std::uint64_t a4 asm("a4") = words[4];
  register std::uint64_t a5 asm("a5") = words[5];
  asm volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5) : "memory");
  const auto result = static_cast<std::int64_t>(a0);
  if (result == -EFAULT || result == -EAGAIN) promote();
  return result;
}

#else

inline bool is_speculative() { return false; }
inline bool is_doomed() { return false; }
inline void promote() {}
template <class F, class... Args>
inline void on_abort(F, Args...) {}
inline bool is_callers(const void*, std::size_t) { return true; }
template <class... Args>
inline std::int64_t system_call(std::int64_t number, Args... args) {
  const int before = errno;
  const std::int64_t result = ::syscall(number, args...);
  return result != -1 ? result : -std::int64_t{std::exchange(errno, before)};
}

#endif

/// Copies word by word if possible; promotes if the caller's pointer is one that it cannot have meant.
inline void copy_in(void* to, const void* from_caller, std::size_t bytes) {
  if (!is_callers(from_caller, bytes)) promote();
  auto* t = static_cast<volatile unsigned char*>(to);
  const auto* f = static_cast<const volatile unsigned char*>(from_caller);
  for (std::size_t i = 0; i < bytes; ++i) t[i] = f[i];
}
/// The other way.
inline void copy_out(void* to_caller, const void* from, std::size_t bytes) {
  if (!is_callers(to_caller, bytes)) promote();
  auto* t = static_cast<volatile unsigned char*>(to_caller);
  const auto* f = static_cast<const volatile unsigned char*>(from);
  for (std::size_t i = 0; i < bytes; ++i) t[i] = f[i];
}

#if !defined(RUBATO_LOCK_MARK)
/// Mark of a place where a lock is taken (1), left (0) or waited for (2), on the chip: run.check_capsules
/// finds these places.
#define RUBATO_LOCK_MARK(what) static_cast<void>(0)
#endif

/// First come, first served; in untracked memory. Held only around work on untracked memory. A thread far
/// back in the queue looks seldom: each look takes the line from the thread that is served.
class TicketLock {
 public:
  /// Waits for its turn.
  void lock() {
    constexpr std::uint32_t kTurnsPerHolder = 64;
    const std::uint32_t ticket = __atomic_fetch_add(&next_, 1, __ATOMIC_RELAXED);
    RUBATO_LOCK_MARK(2);
    while (const std::uint32_t before = ticket - __atomic_load_n(&served_, __ATOMIC_ACQUIRE)) {
      for (std::uint32_t turns = (before - 1) * kTurnsPerHolder; turns > 0; --turns) asm volatile("");
    }
    RUBATO_LOCK_MARK(1);
  }
  /// Releases the lock; called by its holder.
  void unlock() {
    __atomic_store_n(&served_, served_ + 1, __ATOMIC_RELEASE);
    RUBATO_LOCK_MARK(0);
  }

 private:
  std::uint32_t next_ = 0, served_ = 0;
};

}  // namespace rubato::inline v0::capsule

/// Declares a capsule: RUBATO_CAPSULE_DECLARE(void*, take_frame, (Key key, std::uint64_t bytes)); for
/// headers.
#if defined(RUBATO_ENGINE_CHIP)
#define RUBATO_CAPSULE_DECLARE(result, name, parameters) \
  result name parameters __asm__(#name);                 \
  static_assert(::rubato::capsule::detail::is_capsule<result parameters>::value, RUBATO_CAPSULE_SIGNATURE)
/// Defines it; the body follows.
#define RUBATO_CAPSULE(result, name, parameters)                                                       \
  RUBATO_CAPSULE_DECLARE(result, name, parameters);                                                    \
  [[gnu::used, gnu::noinline, gnu::no_stack_protector]] result name##_capsule_body parameters __asm__( \
      "rubato_capsule_body_" #name);                                                                   \
  RUBATO_CAPSULE_ASSEMBLY(name);                                                                       \
  result name##_capsule_body parameters
#else
#define RUBATO_CAPSULE_DECLARE(result, name, parameters) \
  result name parameters;                                \
  static_assert(::rubato::capsule::detail::is_capsule<result parameters>::value, RUBATO_CAPSULE_SIGNATURE)
#define RUBATO_CAPSULE(result, name, parameters)    \
  RUBATO_CAPSULE_DECLARE(result, name, parameters); \
  result name parameters
#endif
/// The sentence of a capsule that cannot be one.
#define RUBATO_CAPSULE_SIGNATURE                                                                           \
  "a capsule takes at most 7 integers, enumerators or pointers and returns nothing, one such value, or a " \
  "trivially copyable struct of two words"
