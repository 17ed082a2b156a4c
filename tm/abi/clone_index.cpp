// SPDX-License-Identifier: MIT
#include "tm/abi/clone_index.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tm/failure.hpp"
#include "tm/thread/thread.hpp"

namespace rubato::tm {
namespace {

/// Followed by its clones, sorted by function.
struct Index {
  std::size_t count;
  Clone* clones() { return reinterpret_cast<Clone*>(this + 1); }
};
static_assert(sizeof(Index) % alignof(Clone) == 0);

struct Table {
  const Clone* clones;
  std::size_t count;
  Table* next;
};

// A program's own table comes before any constructor of this library could run: nothing here needs one.
pthread_mutex_t tables_lock = PTHREAD_MUTEX_INITIALIZER;
Table* tables = nullptr;
constinit std::atomic<Index*> current_index{nullptr};

/// Publishes a new index of all tables and frees the old one when no thread looks at it any more.
void rebuild() {
  std::size_t count = 0;
  for (const Table* table = tables; table != nullptr; table = table->next) count += table->count;
  auto* const index = static_cast<Index*>(std::malloc(sizeof(Index) + count * sizeof(Clone)));
  if (index == nullptr) fatal("no memory for the table of transactional clones");
  index->count = count;
  Clone* to = index->clones();
  for (const Table* table = tables; table != nullptr; table = table->next) {
    std::memcpy(to, table->clones, table->count * sizeof(Clone));
    to += table->count;
  }
  std::sort(index->clones(), to, [](const Clone& a, const Clone& b) { return a.function < b.function; });
  Index* const old = current_index.exchange(index, std::memory_order_seq_cst);
  if (old == nullptr) return;
  Atomics::heavy_fence();
  for_each_thread([](Thread& thread) {
    while (thread.reads_clones.load(std::memory_order_acquire) != 0) Atomics::yield();
  });
  std::free(old);
}

}  // namespace

void add_clones(const Clone* table, std::size_t count) {
  auto* const entry = static_cast<Table*>(std::malloc(sizeof(Table)));
  if (entry == nullptr) fatal("no memory for the table of transactional clones");
  pthread_mutex_lock(&tables_lock);
  *entry = {table, count, tables};
  tables = entry;
  rebuild();
  pthread_mutex_unlock(&tables_lock);
}

void remove_clones(const Clone* table) {
  pthread_mutex_lock(&tables_lock);
  for (Table** place = &tables; *place != nullptr; place = &(*place)->next) {
    if ((*place)->clones == table) {
      Table* const entry = *place;
      *place = entry->next;
      std::free(entry);
      rebuild();
      break;
    }
  }
  pthread_mutex_unlock(&tables_lock);
}

void* find_clone(const void* function) {
  Thread* const thread = rubato_tm_current != nullptr ? rubato_tm_current : rubato_tm_register_thread();
  thread->reads_clones.store(1, std::memory_order_relaxed);
  Atomics::light_fence();
  void* clone = nullptr;
  if (Index* const index = current_index.load(std::memory_order_acquire)) {
    const Clone* const end = index->clones() + index->count;
    const Clone* const found =
        std::lower_bound(static_cast<const Clone*>(index->clones()), end, function,
                         [](const Clone& entry, const void* wanted) { return entry.function < wanted; });
    if (found != end && found->function == function) clone = found->clone;
  }
  thread->reads_clones.store(0, std::memory_order_release);
  return clone;
}

}  // namespace rubato::tm
