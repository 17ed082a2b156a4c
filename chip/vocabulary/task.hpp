// Tasks as the chip knows them: the stored descriptor and virtual time. Espresso, Sec. III and V-A; C8, C16.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "chip/vocabulary/types.hpp"
#include "chip/vocabulary/virtual_time.hpp"

namespace rubato::chip {

enum class TaskType : std::uint8_t { spec = 0, nonspec = 1, mayspec = 2 };

constexpr std::string_view name_of(TaskType type) {
  constexpr std::string_view kNames[] = {"spec", "nonspec", "mayspec"};
  return kNames[static_cast<unsigned>(type)];
}

using Locale = std::uint64_t;

/// The operands of a create instruction, as a task queue stores them.
struct TaskDescriptor {
  Addr function = 0;
  Timestamp timestamp = 0;  ///< meaningful if has_timestamp
  Locale locale = 0;        ///< meaningful if has_locale; if has_place a core, modulo the chip's
  TaskType type = TaskType::mayspec;
  std::uint8_t argument_count = 0;
  bool has_timestamp = false;
  bool has_locale = false;
  bool has_place = false;  ///< not with a locale; of no meaning once the task has reached its tile
  bool reads = false;      ///< hint
  bool is_named = false;   ///< the first argument is the function that people know it by
  bool is_again = false;   ///< it ended as waiting before, and is created once more
  std::array<std::uint64_t, 5> arguments{};

  /// The function that reports name the task by: what `function` calls in the end.
  Addr name() const { return is_named ? arguments[0] : function; }
};

}  // namespace rubato::chip
