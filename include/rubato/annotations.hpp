// Annotations: the properties that a program gives to a task when it creates it (task model, section
// "Annotations"; Espresso, Sec. III-A). Semantic annotations mean the same on every engine; hints may be
// ignored.
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

#include "rubato/errors.hpp"

namespace rubato::inline v0 {

class TaskGroup;

/// Integers that can be a timestamp or a locale: every integer type but bool, of at most 64 bits.
template <class I>
concept OrdinaryInteger =
    std::integral<I> && !std::same_as<std::remove_cv_t<I>, bool> && sizeof(I) <= sizeof(std::uint64_t);

/// A point in the program's order: 0 to 2^64-1, smaller is earlier. Reads like a std::uint64_t.
/// A negative value is an error (TaskError; compile-time where the value is a constant expression).
class Timestamp {
 public:
  constexpr Timestamp() = default;
  /// Errors: TaskError for a negative value.
  template <OrdinaryInteger I>
  constexpr Timestamp(I value) : value_(static_cast<std::uint64_t>(value)) {
    if constexpr (std::signed_integral<I>) {
      if (value < 0) engine::reject_negative("timestamp", value);
    }
  }
  /// The number.
  constexpr operator std::uint64_t() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

/// Names the data that a task touches: two tasks with one locale never run at once. Any integer, or a
/// resource<T> (resource.hpp). A negative value is an error, as for timestamps.
class Locale {
 public:
  constexpr Locale() = default;
  /// Errors: TaskError for a negative value.
  template <OrdinaryInteger I>
  constexpr Locale(I value) : value_(static_cast<std::uint64_t>(value)) {
    if constexpr (std::signed_integral<I>) {
      if (value < 0) engine::reject_negative("locale", value);
    }
  }
  /// The locale of a resource; `allows_shared_reads`: tasks with .access = reads may run at once. `choices`:
  /// how the native engine keeps its tasks apart (resource.hpp), other engines do not ask. An empty handle
  /// is the number 0.
  static constexpr Locale of_resource(std::uint64_t value, bool allows_shared_reads, std::uint16_t choices) {
    Locale locale(value);
    locale.choices_ = choices;
    locale.allows_shared_reads_ = allows_shared_reads;
    locale.is_resource_ = value != 0;
    return locale;
  }
  /// The number.
  constexpr operator std::uint64_t() const { return value_; }
  /// Tasks with .access = reads may run at once.
  constexpr bool allows_shared_reads() const { return allows_shared_reads_; }
  /// The locale is that of a resource, not a number.
  constexpr bool is_resource() const { return is_resource_; }
  /// For the native engine: how tasks of the resource are kept apart.
  constexpr std::uint16_t choices() const { return choices_; }

 private:
  std::uint64_t value_ = 0;
  std::uint16_t choices_ = 0;
  bool is_resource_ = false;
  bool allows_shared_reads_ = false;
};

/// A task's use of the resource it is annotated with.
enum class Access : std::uint8_t { writes, reads };
using enum Access;

/// Order of tasks within one timestamp.
enum class Priority : std::uint8_t { normal, low, high };

/// The part of the resource that the task will touch; 0 bytes: the first lines.
struct Prefetch {
  std::uint32_t offset = 0;  ///< from the beginning of the resource
  std::uint32_t bytes = 0;   ///< from there on
};

/// Written with designated initializers: create<spec>(visit, {.at = 7, .on = id}, vertex).
/// The order of the members is part of the interface; new ones are appended.
struct Annotations {
  std::optional<Timestamp> at{};         ///< semantic: timestamp
  std::optional<Locale> on{};            ///< semantic: locale
  TaskGroup* group = nullptr;            ///< semantic: the task belongs to this group
  TaskGroup* after = nullptr;            ///< semantic: not before this group is complete
  Access access = Access::writes;        ///< hint
  Priority priority = Priority::normal;  ///< hint
  Prefetch prefetch{};                   ///< hint
  std::optional<std::uint32_t> core{};   ///< hint: where to run; for the chip, too: at_place()
  std::optional<std::uint32_t> numa{};   ///< hint: on which NUMA node to run, where .core does not say
  /// Hint: starts behind all waiting tasks, however many: for tasks that create themselves again and again
  /// (servers, actors' turns). If many tasks wait, the newest of those that are not fair may start first.
  bool fair = false;
};

/// The annotations of a task with a place, as at_place() gives them.
class PlacedAnnotations {
 public:
  /// With .core.
  constexpr const Annotations& annotations() const { return annotations_; }

 private:
  friend constexpr PlacedAnnotations at_place(std::uint32_t, Annotations);
  constexpr PlacedAnnotations(Annotations annotations, std::uint32_t core) : annotations_(annotations) {
    annotations_.core = core;
  }

  Annotations annotations_;
};

/// A hint: the task runs at core `core` or near it, at once with others of that place. The chip counts cores
/// modulo its own, and asks a locale or a group instead if the task has one; elsewhere it is .core.
///   create<mayspec>(visit, at_place(vertex / kVerticesPerCore, {.at = distance}), vertex);
constexpr PlacedAnnotations at_place(std::uint32_t core, Annotations annotations = {}) {
  return {annotations, core};
}

}  // namespace rubato::inline v0
