// Layout of a task: which of the host's cache lines each member is in, see Task.
// SPDX-License-Identifier: MIT
#include "chip/task/task_record.hpp"

#include <gtest/gtest.h>

#include <cstddef>

namespace rubato::chip {
namespace {

template <class Member>
std::ptrdiff_t line_of_member(const Task& task, const Member& member) {
  const auto* const begin = reinterpret_cast<const std::byte*>(&task);
  return (reinterpret_cast<const std::byte*>(&member) - begin) / 64;
}

TEST(TaskRecord, KeepsWhatIsReadTogetherInOneLine) {
  const Task task;
  EXPECT_EQ(sizeof task, 256u);
  EXPECT_EQ(line_of_member(task, task.is_ready), 0);
  EXPECT_EQ(line_of_member(task, task.tile), 0) << "behind the flags";
  EXPECT_EQ(line_of_member(task, task.index), 1);
  EXPECT_EQ(line_of_member(task, task.speculates_from), 1);
  EXPECT_EQ(line_of_member(task, task.next), 1);
  EXPECT_EQ(line_of_member(task, task.descriptor.function), 2);
  EXPECT_EQ(line_of_member(task, task.descriptor.type), 2);
  EXPECT_EQ(line_of_member(task, task.descriptor.arguments[3]), 2);
}

}  // namespace
}  // namespace rubato::chip
