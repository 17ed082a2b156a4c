// The value of task.read, and the operands in a create's registers: C6, P24.
// SPDX-License-Identifier: MIT
#include "chip/core/core.hpp"
#include "chip/isa/task_instructions.hpp"

namespace rubato::chip {

using isa::CreateFlags;
using isa::ReadSelector;

TaskDescriptor descriptor_of(const HartState& hart, std::uint32_t flags) {
  TaskDescriptor task;
  task.function = hart.x[reg::a7];
  task.type = static_cast<TaskType>(flags & CreateFlags::kTypeMask);
  task.has_timestamp = (flags & CreateFlags::kHasTimestamp) != 0;
  task.timestamp = task.has_timestamp ? hart.x[reg::a5] : 0;
  task.has_locale = (flags & CreateFlags::kHasLocale) != 0;
  task.has_place = (flags & CreateFlags::kHasPlace) != 0;
  task.locale = task.has_locale || task.has_place ? hart.x[reg::a6] : 0;
  task.reads = (flags & CreateFlags::kReads) != 0;
  task.is_named = (flags & CreateFlags::kNamed) != 0;
  task.is_again = (flags & CreateFlags::kAgain) != 0;
  task.argument_count = static_cast<std::uint8_t>((flags >> CreateFlags::kArgumentsShift) & 7);
  for (unsigned i = 0; i < task.argument_count; ++i) task.arguments[i] = hart.x[reg::a0 + i];
  return task;
}

void Core::read_register(unsigned selector, unsigned rd) {
  const bool in_task = activity_ == Activity::task || activity_ == Activity::doomed;
  std::uint64_t value = 0;
  switch (static_cast<ReadSelector>(selector)) {
    case ReadSelector::timestamp:
      value = in_task ? task_.descriptor.timestamp : 0;
      break;
    case ReadSelector::is_timestamped:
      value = in_task && task_.descriptor.has_timestamp;
      break;
    case ReadSelector::is_task:
      value = in_task;
      break;
    case ReadSelector::is_speculative:
      value = in_task && task_.speculative;
      break;
    case ReadSelector::core:
      value = id_.value;
      break;
    case ReadSelector::tile:
      value = host_.tile_of(id_).value;
      break;
    case ReadSelector::cores:
      value = host_.core_count();
      break;
    case ReadSelector::workers:
      value = host_.worker_count();
      break;
    case ReadSelector::function:
      value = in_task ? task_.descriptor.name() : 0;
      break;
    case ReadSelector::is_doomed:
      value = activity_ == Activity::doomed;
      break;
    case ReadSelector::capsule_depth:
      value = pipeline_.hart().capsule_depth;
      break;
    case ReadSelector::stack_low:
      value = pipeline_.rights().own_stack().first;
      break;
    case ReadSelector::stack_high:
      value = pipeline_.rights().own_stack().second;
      break;
    case ReadSelector::has_capsules:
      value = config_.task.capsules;
      break;
    case ReadSelector::caller_stack:
      value = capsule_.caller_stack();
      break;
    case ReadSelector::own_core:
      if (in_task) value = id_.value + 1;
      if (in_task && task_.speculative) value = -value;
      break;
  }
  if (observer_ != nullptr && activity_ == Activity::task) observer_->on_task_read(id_, selector, value);
  pipeline_.write_register(rd, value);
}

}  // namespace rubato::chip
