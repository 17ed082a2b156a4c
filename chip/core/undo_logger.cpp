// SPDX-License-Identifier: MIT
#include "chip/core/undo_logger.hpp"

namespace rubato::chip {

std::size_t UndoLogger::entries_of(Addr address, unsigned bytes) const {
  std::size_t entries = 0;
  for (Addr word = address & ~Addr{7}; word < address + bytes; word += 8)
    entries += is_logged(word) ? 1U : 0U;
  return entries;
}

bool UndoLogger::make_room(std::size_t entries, IssueSlot& slot) {
  const Attempt& attempt = *state_.task.attempt;
  return attempt.undo.size() + entries <= attempt.log_lines.size() * kLogEntriesPerLine || take_line(slot);
}

void UndoLogger::log(Addr address, unsigned bytes) {
  for (Addr word = address & ~Addr{7}; word < address + bytes; word += 8)
    if (is_logged(word))
      state_.task.attempt->undo.push_back({word, state_.ports.memory->load<std::uint64_t>(word)});
}

bool UndoLogger::take_line(IssueSlot& slot) {
  if (!state_.window.is_strict(slot.issue)) return state_.departure.leave(PipelineStop::resume);
  if (lines_.empty())
    return state_.departure.leave_with_task_error(
        0, "a speculative task stored more than its core's undo logs can hold");
  const LineAddr line = lines_.front();
  if (!state_.ports.l1d.hit(line, true)) {
    if (!buffers_.wait_for_entry(buffers_.stores(), slot.issue)) return false;
    const AccessResult result = port_.access(line, AccessKind::untracked_store, slot.issue);
    if (!result.done) return false;
    // No load reads a log line, so no load waits for it: fills_until need not know.
    buffers_.stores().add(Cycle{slot.issue}, {line, addr_of(line) >> 3, result.cycle, result.parts});
  }
  lines_.take();
  state_.task.attempt->log_lines.push_back(line);
  return true;
}

}  // namespace rubato::chip
