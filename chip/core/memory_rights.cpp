// SPDX-License-Identifier: MIT
#include "chip/core/memory_rights.hpp"

#include <fmt/format.h>

namespace rubato::chip {

bool MemoryRights::is_for_capsules(Addr address, unsigned bytes) const {
  const Addr last = address + bytes - 1;
  return (is_in_untracked_page(address) && !is_own_stack(line_of(address))) ||
         (is_in_untracked_page(last) && !is_own_stack(line_of(last)));
}

bool MemoryRights::is_foreign_stack(Addr address, unsigned bytes) const {
  const Addr last = address + bytes - 1;
  const auto flags = memory_->attributes(address) | memory_->attributes(last);
  if ((flags & Page::kWorkerStack) == 0 || (address >= stack_low_ && last < stack_high_)) return false;
  return memory_->is_in_worker_stack(address) || memory_->is_in_worker_stack(last);
}

std::string MemoryRights::foreign_stack_sentence(Addr address) const {
  if (hart_.x[reg::sp] < stack_low_)  // a frame so large that it skipped the guard
    return fmt::format(
        "a task touched {:#x}, beyond the end of its stack: a task's stack has {} KiB on the chip, larger "
        "objects belong on the heap",
        address, (stack_high_ - stack_low_) >> 10);
  return fmt::format(
      "a task touched {:#x}, which lies in the stack of another core's worker: tasks share data through the "
      "heap or global variables, a task's stack is gone when it ends",
      address);
}

}  // namespace rubato::chip
