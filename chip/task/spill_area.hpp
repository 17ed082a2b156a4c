// Memory layout of a tile's spilled tasks (C13). Batches of descriptors lie in untracked memory, packed: a
// task of one argument with a timestamp and a locale takes half a line. Refill tasks without an entry of the
// task queue are in an overflow list, a binary heap of 16 B elements. Contents live in the simulator; this
// file says which lines the hardware touches.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "chip/task/task_record.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// The size of a descriptor in a batch: words for the function, the timestamp, the locale and each argument.
/// The upper bits of the function's word hold the type and which of the others are present. At most a line.
constexpr std::uint32_t spilled_bytes(const TaskDescriptor& d) {
  return 8 * (1u + (d.has_timestamp ? 1 : 0) + (d.has_locale ? 1 : 0) + d.argument_count);
}
static_assert(8 * (3 + std::tuple_size_v<decltype(TaskDescriptor::arguments)>) <= kLineBytes);

class SpillArea {
 public:
  /// @param base line-aligned; @param bytes of the area: seven eighths for batches, the rest for the overflow
  /// list.
  SpillArea(Addr base, std::uint64_t bytes, std::uint32_t batch_capacity);

  // Batches: written and read front to back, tasks of one lane in ascending order.
  static constexpr std::uint32_t kNoBatch = ~std::uint32_t{0};
  /// With room for `tasks`, at most batch_capacity(). @throws Error (no progress) if the area is full.
  std::uint32_t open_batch(std::uint32_t tasks);
  void append(std::uint32_t batch, Task* task);
  void chain(std::uint32_t batch, std::uint32_t successor) { batches_[batch].successor = successor; }
  std::uint32_t batch_capacity() const { return capacity_; }
  Task* front(std::uint32_t batch) const { return batches_[batch].first; }
  std::uint32_t size(std::uint32_t batch) const { return batches_[batch].size; }  ///< tasks
  Task* take_front(std::uint32_t batch);

  // Lines of a batch: those that the appended descriptors fill, and with one that they fill in part.
  std::uint32_t full_lines(std::uint32_t batch) const { return batches_[batch].written / kLine; }
  std::uint32_t written_lines(std::uint32_t batch) const { return lines_to(batches_[batch].written); }
  // To read: from the first one of the front descriptor on, which ends in the first or second.
  std::uint32_t lines_left(std::uint32_t batch) const {
    return written_lines(batch) - first_line_left(batch);
  }
  std::uint32_t lines_of_front(std::uint32_t batch) const {
    const Batch& b = batches_[batch];
    return lines_to(b.read + spilled_bytes(b.first->descriptor)) - first_line_left(batch);
  }
  std::uint32_t first_line_left(std::uint32_t batch) const { return batches_[batch].read / kLine; }
  LineAddr line(std::uint32_t batch, std::uint32_t i) const {
    return line_of(base_ + (batches_[batch].first_line + i) * kLineBytes);
  }
  /// Frees an empty batch; @returns the one chained behind it, or kNoBatch.
  std::uint32_t close_batch(std::uint32_t batch);

  // The overflow list. Lines touched are appended to `lines`.
  bool overflow_empty() const { return overflow_.empty(); }
  const Task* overflow_top() const { return overflow_.empty() ? nullptr : overflow_.front(); }
  void overflow_push(Task* refill, std::vector<LineAddr>& lines);
  Task* overflow_pop(std::vector<LineAddr>& lines);

  std::uint64_t tasks() const { return tasks_; }  ///< in batches

 private:
  /// Lines that a batch of `tasks` reserves: a power of two, so that freed ones fit again, or all it may
  /// need.
  static constexpr std::uint32_t kFewestLines = 16;
  std::uint32_t lines_for(std::uint32_t tasks) const {
    return std::min(capacity_, std::max(kFewestLines, std::bit_ceil(tasks)));
  }
  std::vector<std::uint32_t>& free_of(std::uint32_t lines) {
    return free_[static_cast<unsigned>(std::bit_width(lines - 1))];
  }

  struct Batch {
    std::uint64_t first_line = 0;
    std::uint32_t lines = 0;
    Task* first = nullptr;
    Task* last = nullptr;
    std::uint32_t size = 0;               ///< tasks
    std::uint32_t written = 0, read = 0;  ///< bytes
    std::uint32_t successor = kNoBatch;
  };
  static constexpr std::uint32_t kLine = kLineBytes;
  static constexpr std::uint32_t lines_to(std::uint32_t bytes) { return (bytes + kLine - 1) / kLine; }
  void touch(std::size_t element, std::vector<LineAddr>& lines) const;

  Addr base_, overflow_base_, end_;
  std::uint32_t capacity_;
  std::vector<Batch> batches_;
  std::array<std::vector<std::uint32_t>, 33> free_;  // by the binary logarithm of their lines, rounded up
  std::uint64_t lines_ = 0;                          // of all batches
  std::vector<Task*> overflow_;
  std::uint64_t tasks_ = 0;
};

}  // namespace rubato::chip
