// Tasks of one timestamp and one function, many of them: the words in which they differ, one record after the
// other, instead of a line of memory and a link each. A timestamp of millions of tasks is written once and
// read once, in the order of its addresses, and takes a fraction of the memory. R1 and R9.
//
//   chunk    what its tasks have in common, then their records
//   record   the handle, if tasks differ in more of it than a locale; then the payload's words, without the
//            first, if that is the function
//
// Of a locale that is no resource only the pool matters, and a list is of one pool: its tasks come back with
// the locale of one of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "native/policy.hpp"
#include "native/pool/atomics.hpp"
#include "native/pool/task_list.hpp"

namespace rubato::inline v0::native {

struct PackedChunk {
  static constexpr unsigned kWords = 2041;

  PackedChunk* next;
  const engine::TaskCode* code;
  std::uint64_t function;  ///< the first word, if code->is_function_pointer
  std::uint64_t at;
  std::uint64_t handle;  ///< of the first task
  std::uint64_t size;    ///< tasks that are in it
  std::uint32_t length;  ///< words of a record
  std::uint16_t from;    ///< the payload's first word that is in it
  bool is_varied;        ///< records begin with the handle
  std::uint64_t words[kWords];
};
static_assert(sizeof(PackedChunk) == std::size_t{16} << 10);

/// Unused chunks, for all workers. They are not returned to the system before it ends.
class PackedMemory {
 public:
  PackedMemory() = default;
  ~PackedMemory();
  PackedMemory(const PackedMemory&) = delete;
  PackedMemory& operator=(const PackedMemory&) = delete;

 private:
  friend class PackedChunks;
  struct Range {
    PackedChunk* next = nullptr;
    PackedChunk* end = nullptr;
  };

  std::mutex mutex_;
  PackedChunk* free_ = nullptr;
  std::vector<PackedChunk*> slabs_;
  PackedChunk* rests_ = nullptr;  // of slabs of workers that are no more: the first chunk has the size
};

/// The chunks of a worker: first the ones that it gave back last, which are in its cache, then those of
/// others. Chunks never used yet are in a slab of its own, which it does not touch. The first touch costs
/// milliseconds a huge page, so two workers should spend them at the same time, and none twice.
class PackedChunks {
 public:
  explicit PackedChunks(PackedMemory& memory) : memory_(memory) {}
  ~PackedChunks();
  PackedChunks(const PackedChunks&) = delete;
  PackedChunks& operator=(const PackedChunks&) = delete;

  /// Null if the system has no memory left.
  PackedChunk* take();
  void give(PackedChunk* chunk);

 private:
  static constexpr std::size_t kSlabBytes = std::size_t{2} << 20;
  static constexpr unsigned kKept = 64;  // 1 MB

  bool take_slab();

  PackedMemory& memory_;
  PackedChunk* free_ = nullptr;
  unsigned free_count_ = 0;   // kKept at most
  PackedMemory::Range rest_;  // of the last slab
};

/// Whether the task's words are all there is to it, and it runs where and when any other of its timestamp
/// does.
inline bool is_packable(const Task* task) {
  constexpr std::uint64_t kOdd = engine::handle::kExtended | engine::handle::kSpec;
  return (task->handle & kOdd) == 0 && task->code->is_plain && rank_of(task) == kNormalRank;
}

/// First in, first out. May be moved by copying it; does not own its chunks. Empty, it has none.
class PackedTasks {
 public:
  bool is_empty() const { return size_ == 0; }
  std::uint64_t size() const { return size_; }

  /// Copies a packable task of the same timestamp and function as all others. False: no memory.
  bool push(const Task* task, std::uint64_t at, PackedChunks& chunks) {
    if ((last_ == nullptr || written_ + last_->length > PackedChunk::kWords || !suits(task->handle)) &&
        !add_chunk(task, at, chunks)) {
      return false;
    }
    std::uint64_t* record = last_->words + written_;
    // Lists take turns: without this every line's first record would wait for memory.
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(record) + kBytesAhead),
                       1);
    written_ += last_->length;
    if (last_->is_varied) *record++ = task->handle;
    const std::uint64_t* const end = last_->words + written_;
    for (const std::uint64_t* word = task->words + last_->from; record != end;) *record++ = *word++;
    ++last_->size;
    ++size_;
    return true;
  }

  /// Makes `task` the next one. The list must not be empty.
  void pop(Task* task, PackedChunks& chunks) {
    const std::uint64_t* record = first_->words + read_;
    read_ += first_->length;
    task->code = first_->code;
    task->handle = first_->is_varied ? *record++ : first_->handle;
    task->words[0] = first_->function;
    const std::uint64_t* const end = first_->words + read_;
    for (std::uint64_t* word = task->words + first_->from; record != end;) *word++ = *record++;
    task->words[engine::kInlineWords - 1] = first_->at;
    --size_;
    if (--first_->size == 0) drop_chunk(chunks);
  }

 private:
  static constexpr unsigned kBytesAhead = 128;  // two lines

  bool suits(std::uint64_t handle) const {
    return last_->is_varied || ((handle ^ last_->handle) & ~engine::handle::kAddressMask) == 0;
  }
  bool add_chunk(const Task* task, std::uint64_t at, PackedChunks& chunks);
  void drop_chunk(PackedChunks& chunks);

  PackedChunk* first_ = nullptr;
  PackedChunk* last_ = nullptr;
  std::uint64_t size_ = 0;
  std::uint32_t written_ = 0;  // words of the last chunk
  std::uint32_t read_ = 0;     // words of the first
};

/// Carrier of a list on its way through a pool: looks like one task. The worker that takes it runs the list's
/// tasks in its place. Its block is freed like a task's.
inline constexpr engine::TaskCode kCarrierCode{nullptr, nullptr, nullptr,           false,
                                               false,   0,       engine::kNoPointer};
inline bool is_carrier(const Task* task) { return task->code == &kCarrierCode; }
inline void make_carrier(Task* task, const PackedTasks& list) {
  task->code = &kCarrierCode;
  task->handle = std::uint64_t{static_cast<std::uint8_t>(Priority::normal)} << engine::handle::kPriorityShift;
  ::new (engine::payload_of(task)) PackedTasks(list);
}
inline PackedTasks list_of(Task* carrier) {
  return *std::launder(static_cast<PackedTasks*>(engine::payload_of(carrier)));
}
static_assert(sizeof(PackedTasks) <= sizeof(Task::words) && std::is_trivially_copyable_v<PackedTasks>);

/// Packed tasks of a worker: those of a timestamp that many were created for in a row, a list for each pool
/// (one, without pools).
class PackedTimestamp {
 public:
  explicit PackedTimestamp(unsigned lists) : lists_(lists) {}

  bool is_empty() const { return size_ == 0; }
  std::uint64_t size() const { return size_; }
  /// Precondition: not empty.
  std::uint64_t at() const { return at_; }

  /// Whether `at` is that of the task before: the quick look before wants().
  bool repeats(std::uint64_t at) {
    if (at == at_) return true;
    if (size_ == 0) {
      at_ = at;
      code_ = nullptr;
    }
    return false;
  }
  /// Whether the task, packable and with timestamp `at`, is one more of many: it belongs here. A few in a row
  /// are none.
  bool wants(const Task* task, std::uint64_t at) {
    if (at == at_ && task->code == code_ && (!code_->is_function_pointer || task->words[0] == function_)) {
      return ++row_ > threshold(policy::kPackedRow, std::uint64_t{0});
    }
    if (size_ != 0) return false;
    at_ = at;
    code_ = task->code;
    function_ = task->words[0];
    row_ = 0;
    return false;
  }
  bool push(const Task* task, unsigned list, PackedChunks& chunks) {
    if (!lists_[list].push(task, at_, chunks)) return false;
    ++size_;
    return true;
  }
  bool is_empty(unsigned list) const { return lists_[list].is_empty(); }
  unsigned lists() const { return static_cast<unsigned>(lists_.size()); }
  PackedTasks take(unsigned list) {
    size_ -= lists_[list].size();
    if (size_ == 0) row_ = 0;
    return std::exchange(lists_[list], {});
  }
  /// Empty, before another run.
  void reset() { code_ = nullptr; }

 private:
  std::uint64_t at_ = 0;
  const engine::TaskCode* code_ = nullptr;
  std::uint64_t function_ = 0;
  std::uint64_t row_ = 0;
  std::uint64_t size_ = 0;
  std::vector<PackedTasks> lists_;
};

}  // namespace rubato::inline v0::native
