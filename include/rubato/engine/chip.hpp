// Engine `chip`: tasks as RISC-V instructions of the simulated chip (C6 to C8). A task is one create
// instruction: function, timestamp, locale and arguments in registers. Groups are kept in software. Dispatch
// may jump to a function of the engine instead of the program's. Then the first argument is the program's
// function, and the instruction says so (kNamed). Reports name the task by it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "rubato/annotations.hpp"
#include "rubato/engine/chip_instructions.hpp"
#include "rubato/engine/resource_header.hpp"
#include "rubato/group.hpp"
#include "rubato/task_type.hpp"

#if defined(__riscv)

#include "rubato/engine/chip_region.hpp"

namespace rubato::inline v0::engine {

inline std::uint64_t timestamp() { return instruction::read<instruction::kTimestamp>(); }
inline bool is_timestamped() { return instruction::read<instruction::kIsTimestamped>() != 0; }
inline bool is_in_task() { return instruction::read<instruction::kIsTask>() != 0; }

inline void serialize() {
  if (instruction::read<instruction::kIsSpeculative>() != 0) instruction::promote();
}

// ---- Arguments in registers ----

template <class T>
inline std::uint64_t pack(T value) {
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  return word;
}
template <class T>
inline T unpack(std::uint64_t word) {
  static_assert(std::is_trivially_copyable_v<T>);
  if constexpr (std::is_pointer_v<T>) return reinterpret_cast<T>(word);
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) return static_cast<T>(word);
  alignas(T) unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, &word, sizeof(T));
  return *std::launder(reinterpret_cast<T*>(bytes));
}

/// Parameters that the calling convention passes in integer registers, one each.
template <class T>
inline constexpr bool is_integer_parameter =
    std::is_integral_v<T> || std::is_enum_v<T> || std::is_pointer_v<T>;

/// The value as the calling convention widens it: 32-bit values by their sign whatever their type, smaller
/// ones by type.
template <class T>
inline std::uint64_t widen(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<std::uintptr_t>(value);
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<std::uint64_t>(value);
  } else {
    return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(value)});
  }
}

/// Entry point of dispatch for callables without state.
template <class F, class... Args>
struct Entry {
  template <class>
  using Word = std::uint64_t;
  static void call(Word<Args>... words) { F{}(unpack<Args>(words)...); }
};

/// For callables with state, whose words come before the arguments'.
template <class F, class State, class... Args>
struct StatefulEntry;
template <class F, std::size_t... state, class... Args>
struct StatefulEntry<F, std::index_sequence<state...>, Args...> {
  template <std::size_t>
  using StateWord = std::uint64_t;
  template <class>
  using Word = std::uint64_t;
  static void call(StateWord<state>... captured, Word<Args>... words) {
    const std::uint64_t whole[] = {captured...};
    alignas(F) unsigned char bytes[sizeof(F)];
    std::memcpy(bytes, whole, sizeof(F));
    static_cast<Called<F, Args...>>(*std::launder(reinterpret_cast<F*>(bytes)))(unpack<Args>(words)...);
  }
};

/// For a function pointer known only at run time whose parameters are not all integers: the pointer takes one
/// register, so at most 4 arguments fit beside it. Named.
template <class Pointer, class... Args>
struct PointerEntry {
  template <class>
  using Word = std::uint64_t;
  static void call(std::uint64_t function, Word<Args>... words) {
    reinterpret_cast<Pointer>(function)(unpack<Args>(words)...);
  }
};

/// And with 5 such arguments, which are in memory. Named.
template <class Pointer, class... Args>
struct BoxedEntry {
  template <class>
  using Word = std::uint64_t;
  struct Box {
    std::uint64_t words[sizeof...(Args)];
  };
  static void call(std::uint64_t function, Box* box) {
    const Box copy = *box;
    delete box;
    apply(reinterpret_cast<Pointer>(function), copy, std::index_sequence_for<Args...>{});
  }

 private:
  template <std::size_t... i>
  static void apply(Pointer function, const Box& box, std::index_sequence<i...>) {
    function(unpack<Args>(box.words[i])...);
  }
};

// ---- Creation ----

/// `more`: flags of the instruction besides those that the annotations say.
template <TaskType type, unsigned count, std::uint32_t more>
[[gnu::always_inline]] inline void create_plain(const Annotations& a, instruction::CreateOperands& operands) {
  constexpr auto flags = static_cast<std::uint32_t>(type) | more;
  if (a.at) operands.at = *a.at;
  if (a.on) operands.on = *a.on;
  if (a.at && a.on) {
    if (a.access == Access::reads && a.on->allows_shared_reads()) {
      instruction::create<flags | instruction::kHasTimestamp | instruction::kHasLocale | instruction::kReads,
                          count>(operands);
    } else {
      instruction::create<flags | instruction::kHasTimestamp | instruction::kHasLocale, count>(operands);
    }
  } else if (a.at) {
    instruction::create<flags | instruction::kHasTimestamp, count>(operands);
  } else if (a.on) {
    if (a.access == Access::reads && a.on->allows_shared_reads()) {
      instruction::create<flags | instruction::kHasLocale | instruction::kReads, count>(operands);
    } else {
      instruction::create<flags | instruction::kHasLocale, count>(operands);
    }
  } else {
    instruction::create<flags, count>(operands);
  }
}

/// A task with .group or .after: it waits and is counted in software, around its own function.
///   - An untimestamped task whose group is not complete is held in a list of that group; the task that
///     completes the group creates it again (any task may create an untimestamped one, M2).
///   - A timestamped task stays in the task queues, where it keeps later timestamps from running: dispatched
///     too early, it creates itself again with its own timestamp.
/// Both end as waiting, so that the simulator counts them once and finds out if none of them can ever go on.
struct GroupedTask {
  GroupedTask* next;
  TaskType type;
  Annotations annotations;
  std::uint64_t name;  ///< the program's function
  std::uint64_t function;
  std::uint64_t arguments[kMaxArguments];
};

/// Entry of a grouped task, named. `after` is an argument, too: there the simulator reads which group the
/// task waits for.
void grouped_entry(std::uint64_t name, GroupedTask* task, const TaskGroup* after);

struct GroupState {
  static void join(TaskGroup& group) { __atomic_fetch_add(&group.pending_, 1, __ATOMIC_SEQ_CST); }
  static void leave(TaskGroup& group) {
    if (__atomic_sub_fetch(&group.pending_, 1, __ATOMIC_SEQ_CST) == 0) release(group);
  }
  /// Either this call or the last member's leave() sees the other's write.
  static void hold(GroupedTask* task) {
    TaskGroup& group = *task->annotations.after;
    void* head = __atomic_load_n(&group.held_, __ATOMIC_SEQ_CST);
    do {
      task->next = static_cast<GroupedTask*>(head);
    } while (
        !__atomic_compare_exchange_n(&group.held_, &head, task, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    if (__atomic_load_n(&group.pending_, __ATOMIC_SEQ_CST) == 0) release(group);
  }
  /// Makes the running task, which is this one, wait: its group is not complete, so it ends.
  [[noreturn]] static void wait(GroupedTask* task) {
    if (task->annotations.at) {
      submit<instruction::kAgain>(task);
    } else {
      hold(task);
    }
    instruction::finish_waiting();
  }
  template <std::uint32_t more = 0>
  static void submit(GroupedTask* task) {
    instruction::CreateOperands operands;
    operands.function = widen(&grouped_entry);
    operands.arguments[0] = task->name;
    operands.arguments[1] = widen(task);
    operands.arguments[2] = widen(task->annotations.after);
    constexpr std::uint32_t flags = instruction::kNamed | more;
    const Annotations& a = task->annotations;
    switch (task->type) {
      case TaskType::spec:
        return create_plain<TaskType::spec, 3, flags>(a, operands);
      case TaskType::nonspec:
        return create_plain<TaskType::nonspec, 3, flags>(a, operands);
      case TaskType::mayspec:
        return create_plain<TaskType::mayspec, 3, flags>(a, operands);
    }
  }

 private:
  static void release(TaskGroup& group) {
    auto* task = static_cast<GroupedTask*>(__atomic_exchange_n(&group.held_, nullptr, __ATOMIC_SEQ_CST));
    while (task != nullptr) {
      GroupedTask* const next = task->next;
      submit<instruction::kAgain>(task);
      task = next;
    }
  }
};

inline void grouped_entry(std::uint64_t /*name*/, GroupedTask* task, const TaskGroup* after) {
  if (after != nullptr && !after->is_complete()) GroupState::wait(task);
  const Annotations& a = task->annotations;
  const std::uint64_t* const w = task->arguments;
  // Registers that carry no argument of the function may hold anything.
  using AnyFunction = void (*)(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t);
  reinterpret_cast<AnyFunction>(task->function)(w[0], w[1], w[2], w[3], w[4]);
  if (a.group != nullptr) GroupState::leave(*a.group);
  delete task;
}

/// Out of line: creators with groups are rare, and the fast case stays one instruction.
template <TaskType type, unsigned count, std::uint32_t more>
[[gnu::noinline]] inline void create_grouped(const Annotations& a,
                                             const instruction::CreateOperands& operands) {
  const std::uint64_t name = (more & instruction::kNamed) != 0 ? operands.arguments[0] : operands.function;
  auto* task = new GroupedTask{nullptr, type, a, name, operands.function, {}};
  for (unsigned i = 0; i < count; ++i) task->arguments[i] = operands.arguments[i];
  if (a.group != nullptr) GroupState::join(*a.group);
  GroupState::submit(task);
}

template <TaskType type, std::uint32_t more = 0, class... Words>
[[gnu::always_inline]] inline void create_words(const Annotations& a, std::uint64_t function,
                                                Words... words) {
  instruction::CreateOperands operands;
  operands.function = function;
  unsigned i = 0;
  ((operands.arguments[i++] = words), ...);
  static_cast<void>(i);
  if (a.group != nullptr || a.after != nullptr) {
    // Copy of the annotations: otherwise the caller's would have to be in memory for the fast case, too.
    const Annotations annotations = a;
    const instruction::CreateOperands copy = operands;
    return create_grouped<type, sizeof...(Words), more>(annotations, copy);
  }
  create_plain<type, sizeof...(Words), more>(a, operands);
}

/// A task with a place, whose number stands where a locale would. One with a locale goes to the tile where
/// that keeps its tasks apart. One with a group is created again and again, so it has no place.
template <TaskType type, std::uint32_t more = 0, class... Words>
[[gnu::always_inline]] inline void create_words(const PlacedAnnotations& placed, std::uint64_t function,
                                                Words... words) {
  const Annotations& a = placed.annotations();
  if (a.on || a.group != nullptr || a.after != nullptr)
    return create_words<type, more>(a, function, words...);
  constexpr auto flags = static_cast<std::uint32_t>(type) | more | instruction::kHasPlace;
  instruction::CreateOperands operands;
  operands.function = function;
  operands.on = *a.core;
  unsigned i = 0;
  ((operands.arguments[i++] = words), ...);
  static_cast<void>(i);
  if (a.at) {
    operands.at = *a.at;
    instruction::create<flags | instruction::kHasTimestamp, sizeof...(Words)>(operands);
  } else {
    instruction::create<flags, sizeof...(Words)>(operands);
  }
}

/// `A`, here and below: Annotations or PlacedAnnotations.
template <TaskType type, class A, class Pointer, class... Parameters, class... Args>
[[gnu::always_inline]] inline void create_pointer(const A& a, Pointer function,
                                                  std::type_identity<void(Parameters...)>, Args... args) {
  static_assert(
      (is_task_argument<std::remove_cvref_t<Parameters>> && ...) && (!std::is_reference_v<Parameters> && ...),
      "a task's function takes its arguments by value, each trivially copyable and at most 8 bytes");
  if constexpr ((is_integer_parameter<Parameters> && ...)) {
    create_words<type>(a, reinterpret_cast<std::uintptr_t>(function),
                       widen(static_cast<Parameters>(args))...);
  } else if constexpr (sizeof...(Parameters) < kMaxArguments) {
    create_words<type, instruction::kNamed>(
        a, reinterpret_cast<std::uintptr_t>(&PointerEntry<Pointer, Parameters...>::call),
        reinterpret_cast<std::uintptr_t>(function), pack<Parameters>(args)...);
  } else {
    using Boxed = BoxedEntry<Pointer, Parameters...>;
    auto* box = new typename Boxed::Box{{pack<Parameters>(args)...}};
    create_words<type, instruction::kNamed>(a, reinterpret_cast<std::uintptr_t>(&Boxed::call),
                                            reinterpret_cast<std::uintptr_t>(function), widen(box));
  }
}

template <TaskType type, class A, class F, std::size_t... state, class... Args>
[[gnu::always_inline]] inline void create_stateful(const A& a, const F& function,
                                                   std::index_sequence<state...> words, Args... args) {
  std::uint64_t whole[sizeof...(state)] = {};
  std::memcpy(whole, &function, sizeof(F));
  create_words<type>(a, reinterpret_cast<std::uintptr_t>(&StatefulEntry<F, decltype(words), Args...>::call),
                     whole[state]..., pack<Args>(args)...);
}

template <TaskType type, class F, class A, class... Args>
[[gnu::always_inline]] inline void create(F function, const A& a, Args... args) {
  constexpr bool is_small = is_small_callable<F, sizeof...(Args)>;
  static_assert(
      is_portable_function<F> || is_small,
      "on the chip a callable is trivially copyable and has with its arguments at most 5 words of 8 "
      "bytes: capture a pointer to larger data");
  if constexpr (!is_portable_function<F> && !is_small) {
    return;  // the sentence above is enough
  } else if constexpr (std::is_pointer_v<F>) {
    create_pointer<type>(a, function, decltype(parameters_of(function)){}, args...);
  } else if constexpr (!is_portable_function<F>) {
    create_stateful<type>(a, function, std::make_index_sequence<state_words<F>>{}, args...);
  } else {
    create_words<type>(a, reinterpret_cast<std::uintptr_t>(&Entry<F, Args...>::call), pack<Args>(args)...);
  }
}

// ---- Regions and resources ----

inline ResourceHeader* retired_resources = nullptr;

inline void retire(ResourceHeader* header) {
  if (!is_in_task()) return header->destroy(header);
  ResourceHeader* head = __atomic_load_n(&retired_resources, __ATOMIC_SEQ_CST);
  do {
    header->next_retired = head;
  } while (!__atomic_compare_exchange_n(&retired_resources, &head, header, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST));
}

inline void run() {
  if (is_in_task()) rubato_misuse(errors::nested_run({running_function(), running_timestamp()}).c_str());
  run_region();
  destroy_all(std::exchange(retired_resources, nullptr));
}

}  // namespace rubato::inline v0::engine

#endif
