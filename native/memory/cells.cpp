// Memory of cells: from the system to a thread.
// SPDX-License-Identifier: MIT
#include "native/memory/cells.hpp"

#include <new>

namespace rubato::inline v0::native {

std::vector<Cell*> CellHeap::take(unsigned size_class) {
  const std::lock_guard lock(mutex_);
  std::vector<Cell*>& free = free_[size_class];
  std::vector<Cell*> cells;
  cells.reserve(2 * kBatch);
  if (!free.empty()) {
    const std::size_t from = free.size() > kBatch ? free.size() - kBatch : 0;
    cells.assign(free.begin() + static_cast<std::ptrdiff_t>(from), free.end());
    free.resize(from);
    return cells;
  }
  const std::size_t stride = sizeof(Mailbox) + std::size_t{64} * size_class;
  auto* const begin = static_cast<std::byte*>(::operator new(stride* kBatch, std::align_val_t{64}));
  bytes_ += stride * kBatch;
  chunks_.push_back({begin, stride});
  for (unsigned i = kBatch; i-- > 0;) {
    auto* const cell = ::new (static_cast<void*>(begin + i * stride)) Mailbox;
    cell->life().store(Cell::kOneGeneration | Cell::kIsUnborn, std::memory_order_relaxed);
    cells.push_back(cell);
  }
  return cells;
}

void CellHeap::give(unsigned size_class, const std::vector<Cell*>& cells, std::size_t from) {
  const std::lock_guard lock(mutex_);
  free_[size_class].insert(free_[size_class].end(), cells.begin() + static_cast<std::ptrdiff_t>(from),
                           cells.end());
}

CellCache::~CellCache() {
  for (unsigned c = 0; c < CellHeap::kClasses; ++c) heap_.give(c, free_[c], 0);
}

}  // namespace rubato::inline v0::native
