// A task of the native engine as it lies in memory: one line of 64 bytes, or two. Says how function and
// arguments are packed and called. Workers and their order are in native/. R1.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "rubato/engine/native_check.hpp"
#include "rubato/group.hpp"
#include "rubato/task_type.hpp"

namespace rubato::inline v0::engine {

struct Task;

/// Properties that all tasks of one type share. Static, never freed.
struct TaskCode {
  void (*run)(Task*);          ///< may be called again if the callable is_repeatable
  void (*destroy)(Task*);      ///< null if there is nothing to destroy
  const std::type_info* type;  ///< of the callable
  bool is_function_pointer;    ///< its address is the first word
  bool is_plain;               ///< the payload may be copied as words, and needs no destruction
  std::uint8_t words;          ///< of the payload: those behind it mean nothing
  std::uint8_t pointer;        ///< the word of the first argument that points to data: likely touched first
  /// Moves the callable to the words of another task, and destroys it here; null: its bytes may be copied.
  void (*move)(Task* from, Task* to) noexcept = nullptr;
};
inline constexpr std::uint8_t kNoPointer = 0xff;

/// The bits of Task::handle. The lower 48 bits are the address of the resource, or a hash of the locale.
namespace handle {
inline constexpr unsigned kAddressBits = 48;
inline constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << kAddressBits) - 1;
/// The lower bits of a resource's address are 0; here they say what to prefetch: 0 the first lines, else the
/// number of lines (1 to 3) times 16 plus the first (0 to 15). If the lines lie further back, the extension
/// says which.
inline constexpr std::uint64_t kPrefetchMask = 63;
/// Without them: the address of the resource, or enough of a locale's hash.
inline constexpr std::uint64_t kLocaleMask = kAddressMask & ~kPrefetchMask;
inline constexpr unsigned kPrimitiveShift = 48;  // 3 bits: native/sync
inline constexpr std::uint64_t kPrimitiveMask = std::uint64_t{7} << kPrimitiveShift;
inline constexpr std::uint64_t kReads = std::uint64_t{1} << 51;
inline constexpr unsigned kPriorityShift = 52;  // 2 bits: Priority, or kFair
inline constexpr std::uint64_t kPriorityMask = std::uint64_t{3} << kPriorityShift;
inline constexpr std::uint64_t kFair = kPriorityMask;  // normal priority, and Annotations::fair
inline constexpr unsigned kBirthShift = 54;            // 4 bits: the birth epoch modulo 16
inline constexpr std::uint64_t kBirthMask = std::uint64_t{15} << kBirthShift;
inline constexpr std::uint64_t kExtended = std::uint64_t{1} << 58;     // has a TaskExtension
inline constexpr std::uint64_t kTimestamped = std::uint64_t{1} << 59;  // see Task::timestamp()
inline constexpr std::uint64_t kResource = std::uint64_t{1} << 60;     // the address is a resource's
inline constexpr std::uint64_t kLocale = std::uint64_t{1} << 61;       // any locale
inline constexpr std::uint64_t kPooled = std::uint64_t{1} << 63;       // serialized by a pool
inline constexpr std::uint64_t kSpec = std::uint64_t{1} << 62;         // runs alone
}  // namespace handle

inline constexpr unsigned kInlineWords = 5;
inline constexpr unsigned kExtendedWords = 6;

/// The line of every task. `words` holds the callable and its arguments.
struct alignas(64) Task {
  std::atomic<Task*> next;
  const TaskCode* code;
  std::uint64_t handle;
  std::uint64_t words[kInlineWords];

  bool is_timestamped() const { return (handle & handle::kTimestamped) != 0; }
  bool is_extended() const { return (handle & handle::kExtended) != 0; }
  bool is_spec() const { return (handle & handle::kSpec) != 0; }
};

/// The second line of a task that does not fit one.
struct alignas(64) TaskExtension {
  std::uint64_t more_words;  ///< follows words[4]: a sixth word
  std::uint64_t timestamp;
  TaskGroup* group;
  TaskGroup* after;
  std::uint32_t prefetch_offset;
  std::uint32_t prefetch_bytes;
  std::uint32_t core;       ///< kAnywhere, a worker's number, or kOnNode and a NUMA node's
  std::uint32_t primitive;  ///< of a task with a guard (native/sync/primitive.hpp)
  // Neighbours among the tasks that wait for the same group, while the task waits for `after`
  // (native/order/groups.hpp).
  Task* blocked_before;
  Task* blocked_behind;
};
inline constexpr std::uint32_t kAnywhere = ~std::uint32_t{0};
/// Marks the number of a NUMA node.
inline constexpr std::uint32_t kOnNode = std::uint32_t{1} << 31;

struct ExtendedTask {
  Task task;
  TaskExtension extension;
};
static_assert(sizeof(Task) == 64 && sizeof(ExtendedTask) == 128);

inline TaskExtension* extension_of(Task* task) { return &reinterpret_cast<ExtendedTask*>(task)->extension; }
inline const TaskExtension* extension_of(const Task* task) {
  return &reinterpret_cast<const ExtendedTask*>(task)->extension;
}
/// Timestamp of a timestamped task. A task fits one line if the last word is free for its timestamp.
inline std::uint64_t timestamp_of(const Task* task) {
  return task->is_extended() ? extension_of(task)->timestamp : task->words[kInlineWords - 1];
}
inline TaskGroup* group_of(const Task* task) {
  return task->is_extended() ? extension_of(task)->group : nullptr;
}
inline TaskGroup* after_of(const Task* task) {
  return task->is_extended() ? extension_of(task)->after : nullptr;
}
inline void* payload_of(Task* task) { return task->words; }
/// Target of the first pointer among the arguments, if it is in the first line; else null.
inline const void* first_pointer_of(const Task* task) {
  const unsigned word = task->code->pointer;
  return word < kInlineWords ? reinterpret_cast<const void*>(task->words[word]) : nullptr;
}

/// First in, first out, of one worker; `last` is where the next task is linked, so that create() needs
/// nothing else. While a task runs its worker only appends: then another thread may take tasks from the
/// front, all but the last, behind which the worker may be about to link (native/worker/seizure.hpp).
template <class Node, template <class> class Atomic = std::atomic>
class ListOf {
 public:
  ListOf() = default;
  ListOf(const ListOf&) = delete;
  ListOf& operator=(const ListOf&) = delete;

  bool is_empty() const { return first() == nullptr; }
  Node* first() const { return first_.load(std::memory_order_relaxed); }
  [[gnu::always_inline]] void append(Node* task) { append(task, task); }
  [[gnu::always_inline]] void append(Node* first, Node* last) {
    last->next.store(nullptr, std::memory_order_relaxed);
    last_->store(first, std::memory_order_release);
    last_ = &last->next;
  }
  void prepend(Node* first, Node* last) {
    if (is_empty()) last_ = &last->next;
    last->next.store(this->first(), std::memory_order_relaxed);
    first_.store(first, std::memory_order_relaxed);
  }
  /// The list must not be empty.
  Node* take() {
    Node* const task = first();
    Node* const next = task->next.load(std::memory_order_relaxed);
    first_.store(next, std::memory_order_relaxed);
    if (next == nullptr) last_ = &first_;
    return task;
  }

  /// Takes all tasks, as a list that ends with null.
  Node* take_all() {
    Node* const all = first();
    drop_until(nullptr);
    return all;
  }
  /// Drops the tasks before `task`, which is in the list; null: drops all.
  void drop_until(Node* task) {
    first_.store(task, std::memory_order_relaxed);
    if (task == nullptr) last_ = &first_;
  }

  // ---- For another thread, while the worker may append ----
  /// The first task, if there is one behind it: it is taken. Else null.
  Node* take_settled() {
    Node* const task = first_.load(std::memory_order_acquire);
    Node* const next = task != nullptr ? task->next.load(std::memory_order_acquire) : nullptr;
    if (next != nullptr) first_.store(next, std::memory_order_relaxed);
    return next != nullptr ? task : nullptr;
  }
  /// The first task, which stays.
  Node* first_seen() const { return first_.load(std::memory_order_acquire); }

  /// Present end of the list. cut() takes away the tasks appended since, as a list that ends with null.
  using Mark = Atomic<Node*>*;
  Mark mark() const { return last_; }
  Node* cut(Mark mark) {
    last_ = mark;
    return mark->exchange(nullptr, std::memory_order_relaxed);
  }

 private:
  Atomic<Node*> first_{nullptr};
  Atomic<Node*>* last_ = &first_;
};
using TaskList = ListOf<Task>;

// ---- Callables and arguments in words ----

template <class F>
inline constexpr bool is_stateless =
    std::is_empty_v<F> && std::is_trivially_copyable_v<F> && std::is_default_constructible_v<F>;
template <class F>
inline constexpr std::size_t callable_words = is_stateless<F> ? 0 : (sizeof(F) + 7) / 8;

/// Whether a task is the same after an attempt, as far as its words go, and so may run again: all but those
/// whose callable changes itself when it is called (a `mutable` lambda). Arguments are passed as copies.
template <class F, class... Args>
inline constexpr bool is_repeatable = is_stateless<F> || std::is_invocable_v<const F&, Args...>;

/// Whether the words of a task hold callable and arguments. If not, they hold a pointer to an allocated
/// Closure. A callable in words must not throw when it is moved: another worker may want it.
template <class F, class... Args>
inline constexpr bool is_inline_task =
    callable_words<F> + sizeof...(Args) <= kExtendedWords && alignof(F) <= alignof(std::uint64_t) &&
    std::is_nothrow_move_constructible_v<F>;

template <class F, class... Args>
inline constexpr std::size_t payload_words =
    is_inline_task<F, Args...> ? callable_words<F> + sizeof...(Args) : 1;

template <class T>
inline T word_as(const std::uint64_t* word) {
  alignas(T) unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, static_cast<const void*>(word), sizeof(T));
  return *std::launder(reinterpret_cast<T*>(bytes));
}

/// `first`: the word of the first argument.
template <class... Args>
constexpr std::uint8_t pointer_word(std::size_t first) {
  for (const bool is_pointer :
       {(std::is_pointer_v<Args> && std::is_object_v<std::remove_pointer_t<Args>>)..., false}) {
    if (is_pointer) return static_cast<std::uint8_t>(first);
    ++first;
  }
  return kNoPointer;
}

template <class F>
inline F* callable_in(void* payload) {
  return std::launder(static_cast<F*>(payload));
}

template <class F, class... Args>
struct InlineTask {
  static void run(Task* task) {
    [[maybe_unused]] const check::TaskScope scope(task);
    call(task, std::index_sequence_for<Args...>{});
  }
  static void destroy(Task* task) { callable_in<F>(payload_of(task))->~F(); }
  static void move(Task* from, Task* to) noexcept {
    ::new (payload_of(to)) F(std::move(*callable_in<F>(payload_of(from))));
    destroy(from);
  }

  template <std::size_t... I>
  static void call(Task* task, std::index_sequence<I...>) {
    void* const payload = payload_of(task);
    [[maybe_unused]] const auto* const words = static_cast<const std::uint64_t*>(payload) + callable_words<F>;
    if constexpr (is_stateless<F>) {
      F{}(word_as<Args>(words + I)...);
    } else {
      static_cast<Called<F, Args...>>(*callable_in<F>(payload))(word_as<Args>(words + I)...);
    }
  }
  static constexpr TaskCode code{run,
                                 std::is_trivially_destructible_v<F> ? nullptr : destroy,
                                 &typeid(name_type<F>),
                                 false,
                                 std::is_trivially_copyable_v<F> && !check::kIsChecked,
                                 payload_words<F, Args...>,
                                 pointer_word<Args...>(callable_words<F>),
                                 std::is_trivially_copyable_v<F> ? nullptr : move};
};

/// A function pointer known at run time: its parameters' types say what the arguments become.
template <class Pointer, class Parameters, class... Args>
struct PointerTask;
template <class Pointer, class... Parameters, class... Args>
struct PointerTask<Pointer, std::type_identity<void(Parameters...)>, Args...> {
  static void run(Task* task) {
    [[maybe_unused]] const check::TaskScope scope(task);
    call(task, std::index_sequence_for<Args...>{});
  }
  template <std::size_t... I>
  static void call(Task* task, std::index_sequence<I...>) {
    const auto* const words = static_cast<const std::uint64_t*>(payload_of(task));
    word_as<Pointer>(words)(static_cast<Parameters>(word_as<Args>(words + 1 + I))...);
  }
  static constexpr TaskCode code{run,
                                 nullptr,
                                 &typeid(Pointer),
                                 true,
                                 !check::kIsChecked,
                                 1 + sizeof...(Args),
                                 pointer_word<Args...>(1)};
};

/// Callable with its arguments that does not fit into a task: an allocation of its own.
template <class F, class... Args>
struct Closure {
  F function;
  std::tuple<Args...> arguments;

  static Closure* of(Task* task) { return word_as<Closure*>(static_cast<std::uint64_t*>(payload_of(task))); }
  static void run(Task* task) {
    [[maybe_unused]] const check::TaskScope scope(task);
    Closure& closure = *of(task);
    const auto call = [&closure](const Args&... args) {
      static_cast<Called<F, Args...>>(closure.function)(Args(args)...);
    };
    std::apply(call, closure.arguments);
  }
  static void destroy(Task* task) { std::unique_ptr<Closure>(of(task)).reset(); }
  static constexpr TaskCode code{run, destroy, &typeid(name_type<F>), false, false, 1, 0};
};

template <class T>
inline void store_word(std::uint64_t* word, const T& value) {
  std::memcpy(static_cast<void*>(word), &value, sizeof(T));
}

/// Whether fill_task() can throw: an allocation, the callable's move, or a note of the checked build.
template <class F, class... Args>
inline constexpr bool is_filled_noexcept =
    is_inline_task<F, Args...> && std::is_nothrow_move_constructible_v<F> && !check::kIsChecked;

/// Fills code and words of a new task, whose handle is complete, and that has room for payload_words<F,
/// Args...>. If it throws there is nothing to destroy.
template <class F, class... Args>
[[gnu::always_inline]] inline void fill_task(Task* task, F&& function, const Args&... args) {
  using Function = std::remove_cvref_t<F>;
  auto* word = static_cast<std::uint64_t*>(payload_of(task));
  if constexpr (!is_inline_task<Function, Args...>) {
    using Allocated = Closure<Function, Args...>;
    store_word(word,
               std::make_unique<Allocated>(std::move(function), std::tuple<Args...>(args...)).release());
    task->code = &Allocated::code;
  } else {
    if constexpr (std::is_pointer_v<Function>) {
      store_word(word, function);
      task->code = &PointerTask<Function, decltype(parameters_of(function)), Args...>::code;
    } else {
      if constexpr (!is_stateless<Function>) ::new (static_cast<void*>(word)) Function(std::move(function));
      task->code = &InlineTask<Function, Args...>::code;
    }
    word += callable_words<Function>;
    (store_word(word++, args), ...);
  }
  if constexpr (check::kIsChecked) {
    try {
      check::created(task);
    } catch (...) {
      if (task->code->destroy != nullptr) task->code->destroy(task);
      throw;
    }
  }
}

}  // namespace rubato::inline v0::engine
