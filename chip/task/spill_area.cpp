// The spill area of spill_area.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/spill_area.hpp"

#include <utility>

#include "base/check.hpp"
#include "base/error.hpp"

namespace rubato::chip {

namespace {
constexpr std::uint64_t kOverflowElementBytes = 16;  // timestamp, address of the batch
}

SpillArea::SpillArea(Addr base, std::uint64_t bytes, std::uint32_t batch_capacity)
    : base_(base),
      overflow_base_(base + bytes / 8 * 7 / kLineBytes * kLineBytes),
      end_(base + bytes),
      capacity_(batch_capacity) {}

std::uint32_t SpillArea::open_batch(std::uint32_t tasks) {
  const std::uint32_t lines = lines_for(tasks);
  std::vector<std::uint32_t>& free = free_of(lines);
  if (free.empty()) {
    if (base_ + (lines_ + lines) * kLineBytes > overflow_base_) {
      throw Error(ExitCode::no_progress,
                  fmt::format("a tile spilled more than {} tasks, which fills its {} bytes of spill memory",
                              tasks_, end_ - base_));
    }
    free.push_back(static_cast<std::uint32_t>(batches_.size()));
    batches_.push_back({.first_line = lines_, .lines = lines});
    lines_ += lines;
  }
  const std::uint32_t batch = free.back();
  free.pop_back();
  batches_[batch] = Batch{.first_line = batches_[batch].first_line, .lines = lines};
  return batch;
}

void SpillArea::append(std::uint32_t batch, Task* task) {
  Batch& b = batches_[batch];
  b.written += spilled_bytes(task->descriptor);
  RUBATO_CHECK(b.written <= b.lines * kLineBytes, "a batch holds more tasks than it has lines");
  task->state = TaskState::spilled;
  task->is_throttled = false;
  task->speculates_from = 0;  // not part of what is written
  task->is_read_back = false;
  task->next = nullptr;
  (b.first == nullptr ? b.first : b.last->next) = task;
  b.last = task;
  ++b.size;
  ++tasks_;
}

Task* SpillArea::take_front(std::uint32_t batch) {
  Batch& b = batches_[batch];
  Task* task = b.first;
  b.first = task->next;
  task->next = nullptr;
  b.read += spilled_bytes(task->descriptor);
  --b.size;
  --tasks_;
  return task;
}

std::uint32_t SpillArea::close_batch(std::uint32_t batch) {
  RUBATO_CHECK(batches_[batch].first == nullptr, "a batch with tasks was freed");
  free_of(batches_[batch].lines).push_back(batch);
  return batches_[batch].successor;
}

void SpillArea::touch(std::size_t element, std::vector<LineAddr>& lines) const {
  const Addr address = overflow_base_ + element * kOverflowElementBytes;
  if (address >= end_)
    throw Error(ExitCode::no_progress, "a tile's list of spilled batches fills its memory");
  const LineAddr line = line_of(address);
  if (lines.empty() || lines.back() != line) lines.push_back(line);
}

void SpillArea::overflow_push(Task* refill, std::vector<LineAddr>& lines) {
  std::size_t i = overflow_.size();
  overflow_.push_back(refill);
  touch(i, lines);
  while (i > 0 && overflow_[i]->before(*overflow_[(i - 1) / 2])) {
    std::swap(overflow_[i], overflow_[(i - 1) / 2]);
    i = (i - 1) / 2;
    touch(i, lines);
  }
}

Task* SpillArea::overflow_pop(std::vector<LineAddr>& lines) {
  Task* top = overflow_.front();
  touch(overflow_.size() - 1, lines);
  overflow_.front() = overflow_.back();
  overflow_.pop_back();
  std::size_t i = 0;
  if (!overflow_.empty()) touch(0, lines);
  while (2 * i + 1 < overflow_.size()) {
    std::size_t child = 2 * i + 1;
    if (child + 1 < overflow_.size() && overflow_[child + 1]->before(*overflow_[child])) ++child;
    if (!overflow_[child]->before(*overflow_[i])) break;
    std::swap(overflow_[i], overflow_[child]);
    i = child;
    touch(i, lines);
  }
  return top;
}

}  // namespace rubato::chip
