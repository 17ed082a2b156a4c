// Types of tasks (M2; Espresso, Sec. III) and the parts that a task may be made of (M1), checked at
// compile time.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace rubato::inline v0 {

/// The type of a task, the template argument of create().
enum class TaskType : std::uint8_t {
  spec = 0,     ///< atomic with respect to every other task
  nonspec = 1,  ///< never speculative; the program synchronizes it by timestamps and locales
  mayspec = 2,  ///< as nonspec, and the system may speculate
};
using enum TaskType;

namespace engine {

inline constexpr unsigned kMaxArguments = 5;
inline constexpr unsigned kWordBytes = 8;

/// Trivially copyable and at most a word: travels in a register.
template <class T>
inline constexpr bool is_task_argument = std::is_trivially_copyable_v<T> && sizeof(T) <= kWordBytes;

/// A function pointer, or a callable without state: works on every engine.
template <class F>
inline constexpr bool is_portable_function =
    (std::is_pointer_v<F> && std::is_function_v<std::remove_pointer_t<F>>) ||
    (std::is_empty_v<F> && std::is_trivially_copyable_v<F> && std::is_default_constructible_v<F>);

/// The words that a callable's state takes, in registers.
template <class F>
inline constexpr std::size_t state_words = (sizeof(F) + kWordBytes - 1) / kWordBytes;

/// A callable whose state can travel in registers beside that many arguments, such as a lambda that captures
/// a few words.
template <class F, std::size_t arguments>
inline constexpr bool is_small_callable =
    std::is_class_v<F> && std::is_trivially_copyable_v<F> && state_words<F> + arguments <= kMaxArguments;

/// The type by which errors and traces name a callable: its member TaskName, or the callable itself.
template <class F>
struct NameType {
  using type = F;
};
template <class F>
  requires requires { typename F::TaskName; }
struct NameType<F> {
  using type = typename F::TaskName;
};
template <class F>
using name_type = typename NameType<F>::type;

/// How a task's callable is called: as a constant, if it can be, so that calling it does not change it.
template <class F, class... Args>
using Called = std::conditional_t<std::is_invocable_v<const F&, Args...>, const F&, F&>;

/// Parameters of a function pointer: arguments are converted to them when the task is created.
template <class R, class... P>
std::type_identity<void(P...)> parameters_of(R (*)(P...));
template <class R, class... P>
std::type_identity<void(P...)> parameters_of(R (*)(P...) noexcept);

/// False, for code that must not be instantiated.
template <class>
inline constexpr bool is_never = false;

/// A task is created without its type.
template <class F>
constexpr void refuse_without_type() {
  static_assert(is_never<F>,
                "say of which type the task is: create<mayspec>(...), create<spec>(...) or "
                "create<nonspec>(...); the same for create_all() and create_later()");
}

/// Check of M1, the same on every engine.
template <class F, class... Args>
constexpr void check_task() {
  static_assert(sizeof...(Args) <= kMaxArguments,
                "a task takes at most 5 arguments: pass a pointer to the rest");
  static_assert((is_task_argument<Args> && ...),
                "every argument of a task must be trivially copyable and at most 8 bytes: pass a pointer to "
                "larger data");
  static_assert(!std::is_member_pointer_v<F>,
                "a pointer to a member is not what a task runs: pass a lambda that calls it");
  static_assert(std::is_member_pointer_v<F> || std::is_invocable_v<F&, Args...>,
                "the task's function cannot be called with these arguments");
}

}  // namespace engine
}  // namespace rubato::inline v0
