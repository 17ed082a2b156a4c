// Actors on the native engine: their cells and turns. A turn is an ordinary task; here is nothing that
// schedules. A17 and A22 to A29.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "native/pool/atomics.hpp"
#include "native/pool/pool.hpp"
#include "rubato/engine/actors.hpp"

namespace rubato::inline v0::native {

using engine::Cell;
using engine::MessageNode;

/// The ends of the queue: senders' and owner's on different lines of the cell.
struct CellEnds : Cell {};
/// A cell with its mailbox: any number of messages, a push tells whether a turn is to be scheduled, and
/// finish() whether the actor has nothing to do.
using Mailbox = Pool<StdAtomics, MessageNode, PoolRules, CellEnds>;
inline Mailbox& mailbox_of(Cell& cell) { return static_cast<Mailbox&>(static_cast<CellEnds&>(cell)); }

/// Memory of cells, by their size with the behavior. It is never given back, so that a handle may be compared
/// with a cell's generation whenever.
class CellHeap {
 public:
  CellHeap() = default;
  CellHeap(const CellHeap&) = delete;
  CellHeap& operator=(const CellHeap&) = delete;

  static constexpr unsigned kClasses = 16;  // behaviors of up to 64 times that; larger ones lie elsewhere
  static constexpr unsigned kBatch = 64;
  static unsigned class_of(std::size_t behavior_bytes) {
    const std::size_t lines = (behavior_bytes + 63) / 64;
    return lines < kClasses ? static_cast<unsigned>(lines) : 0;
  }

  /// Up to kBatch free cells, or as many new ones as are made at a time.
  std::vector<Cell*> take(unsigned size_class);
  void give(unsigned size_class, const std::vector<Cell*>& cells, std::size_t from);
  std::size_t bytes() const { return bytes_; }
  /// Others may take cells meanwhile.
  template <class Use>
  void for_each(Use use) {
    Chunk chunk;
    for (std::size_t c = 0; find_chunk(c, chunk); ++c)
      for (unsigned i = 0; i < kBatch; ++i)
        use(*reinterpret_cast<Mailbox*>(chunk.begin + std::size_t{i} * chunk.stride));
  }

 private:
  struct Chunk {
    std::byte* begin;
    std::size_t stride;
  };
  bool find_chunk(std::size_t index, Chunk& chunk) {
    const std::lock_guard lock(mutex_);
    if (index >= chunks_.size()) return false;
    chunk = chunks_[index];
    return true;
  }
  std::mutex mutex_;
  std::vector<Cell*> free_[kClasses];
  std::vector<Chunk> chunks_;
  std::size_t bytes_ = 0;
};

/// A thread's free cells.
class CellCache {
 public:
  explicit CellCache(CellHeap& heap) : heap_(heap) {}
  ~CellCache();
  CellCache(const CellCache&) = delete;
  CellCache& operator=(const CellCache&) = delete;

  Cell* take(unsigned size_class) {
    std::vector<Cell*>& cells = free_[size_class];
    if (cells.empty()) cells = heap_.take(size_class);
    Cell* const cell = cells.back();
    cells.pop_back();
    return cell;
  }
  void give(unsigned size_class, Cell* cell) {
    std::vector<Cell*>& cells = free_[size_class];
    cells.push_back(cell);
    if (cells.size() < 2 * CellHeap::kBatch) return;
    heap_.give(size_class, cells, CellHeap::kBatch);
    cells.resize(CellHeap::kBatch);
  }

 private:
  CellHeap& heap_;
  std::vector<Cell*> free_[CellHeap::kClasses];
};

/// Whether the task brings a message from a thread outside, or from a reader that had not won yet.
bool is_delivery(const engine::Task* task);
/// By a worker. The task's block stays the caller's.
void deliver(const engine::Task* task);
/// After a failed run, when nothing runs: the actors that are there, and those of their mailboxes that have
/// messages, which no turn is due for, are marked. While Shared::reached is closed.
void mark_mailboxes(CellHeap& cells);
/// Messages in the marked mailboxes become dead letters. Until then messages of threads outside may still
/// come to them. Actors that such threads construct meanwhile, and messages that these send to themselves,
/// are not touched.
void clear_mailboxes(CellHeap& cells);
/// After it: actors that were to end, but whose last turn was dropped, end in the next run. @throws
/// std::bad_alloc: some of them with their next message only
void end_in_next_run(CellHeap& cells);

}  // namespace rubato::inline v0::native
