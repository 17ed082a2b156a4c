// SPDX-License-Identifier: MIT
// `query` looks its tuple up. Of a tuple in memory a read sums all lines and a write changes one field;
// `referenced` is stored only where it is not set, or reads of one tuple would conflict.
//
// A miss in the variant `capsule`: kvstore_fetch() brings the tuple into a free frame, the query enters that
// into the index, and creates one `evict`, which runs once the query has committed. Queries that miss the
// same tuple conflict in its entry: one keeps its frame. `evict` takes its time with the disk while other
// tasks run, so it takes a frame from its entry only if nothing happened to that meanwhile: its word is the
// one that was read before the frame was copied. So no write is lost, and no query reads from the disk what
// is not there yet.
//
// If no frame is free, the query is promoted and runs alone. If none is free even then, it serves itself from
// a buffer, and leaves the tuple on the disk.
//
// A miss in the variant `promote`: the query reads the disk itself, is promoted for that, and evicts alone.
#include "apps/kvstore/kvstore_tasks.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "apps/kvstore/fetch.hpp"

namespace rubato::apps::kvstore {
namespace {

/// Everything that tasks share: arguments carry only numbers.
struct Shared {
  Store* store = nullptr;
  const Query* queries = nullptr;
  alignas(64) tracked<std::uint64_t> wrong_reads = 0;
};
Shared shared;

/// On a stack: tasks that cannot be undone may have the kernel use it.
struct alignas(kTupleBytes) Buffer {
  std::uint64_t words[kWords];
};

// errno is the thread's: a task that waits may go on with another one's core, but keeps its thread.
bool read_tuple(Key key, Buffer& buffer) {
  const ssize_t got =
      ::pread(shared.store->file(), buffer.words, kTupleBytes, static_cast<off_t>(key * kTupleBytes));
  if (got == kTupleBytes) return true;
  note_file_error(true, key, got < 0 ? -errno : got);
  return false;
}

bool write_tuple(Key key, const Buffer& buffer) {
  const ssize_t put =
      ::pwrite(shared.store->file(), buffer.words, kTupleBytes, static_cast<off_t>(key * kTupleBytes));
  if (put == kTupleBytes) return true;
  note_file_error(false, key, put < 0 ? -errno : put);
  return false;
}

/// By a task that cannot be undone, beside others that write the entry.
bool replace(Word& word, std::uint64_t expected, std::uint64_t next) {
  static_assert(sizeof(Word) == sizeof(std::uint64_t));
  return __atomic_compare_exchange_n(reinterpret_cast<std::uint64_t*>(&word), &expected, next, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/// Writes the tuple to the disk if it has changed. @returns whether the frame has been taken from its entry.
bool evict_from(Entry& entry, std::uint32_t frame) {
  std::uint64_t word = entry.word;
  if ((word & Place::kReferenced) != 0) {
    replace(entry.word, word, word & ~Place::kReferenced);
    return false;
  }
  if ((word & Place::kDirty) != 0) {
    const std::uint64_t clean = word & ~Place::kDirty;
    if (!replace(entry.word, word, clean)) return false;
    word = clean;
    Buffer buffer;
    std::copy_n(shared.store->frame(frame), kWords, buffer.words);
    if (!write_tuple(entry.key, buffer)) return false;
  }
  return replace(entry.word, word, Place::next(word, Place::kNoFrame, 0));
}

/// The clock of a partition, which no other task touches. @returns the frame, or kNoneFree: the disk
/// fails.
std::uint32_t evict_one(std::uint32_t partition) {
  Store& store = *shared.store;
  while (file_error().error == 0) {
    const std::uint32_t turns = (store.frames() - partition + store.partitions() - 1) / store.partitions();
    const std::uint64_t hand = store.hand(partition);
    store.hand(partition) = hand + 1;
    const std::uint32_t frame = partition + static_cast<std::uint32_t>(hand % turns) * store.partitions();
    const std::uint32_t owner = store.owner(frame);
    if (owner == 0 || !evict_from(store.entry(owner - 1), frame)) continue;
    store.owner(frame) = 0;
    return frame;
  }
  return kNoneFree;
}

/// A query has entered the frame into the index.
void evict(std::uint32_t entry, std::uint32_t frame) {
  shared.store->owner(frame) = entry + 1;
  const std::uint32_t taken = evict_one(shared.store->partition_of(frame));
  if (taken != kNoneFree) give_frame(taken);
}

/// A frame with the tuple; kNoneFree: there is none; kReadFailed.
std::uint32_t fetch(Key key) {
  const std::uint32_t frame = kvstore_fetch(key);
  if (frame != kNoneFree) return frame;
  capsule::promote();
  return kvstore_fetch(key);
}

/// By a task that runs alone.
std::uint32_t fetch_alone(std::uint32_t entry, Key key) {
  Store& store = *shared.store;
  Buffer buffer;
  if (!read_tuple(key, buffer)) return kReadFailed;
  const std::uint32_t frame = evict_one(static_cast<std::uint32_t>(key % store.partitions()));
  if (frame == kNoneFree) return kReadFailed;
  std::copy_n(buffer.words, kWords, store.frame(frame));
  store.owner(frame) = entry + 1;
  return frame;
}

template <class W>
void answer(const Query& query, W* tuple) {
  if (query.writes) {
    write_field(tuple);
  } else if (!is_right(tuple, query.key)) {
    shared.wrong_reads += 1;
  }
}

/// By a task that runs alone. The entry counts on: an attempt that reads the old tuple from the disk
/// conflicts.
void answer_uncached(const Query& query, Entry& entry) {
  Buffer buffer;
  if (!read_tuple(query.key, buffer)) return;
  answer(query, buffer.words);
  if (query.writes && write_tuple(query.key, buffer))
    entry.word = Place::next(entry.word, Place::kNoFrame, 0);
}

template <Variant variant>
void query(std::uint32_t number) {
  Store& store = *shared.store;
  const Query q = shared.queries[number];
  const std::uint32_t found = store.find(q.key);
  Entry& entry = store.entry(found);
  const std::uint64_t before = entry.word;
  std::uint32_t frame = Place::frame(before);
  if (variant != Variant::memory && !Place::has_frame(before)) {
    frame = variant == Variant::capsule ? fetch(q.key) : fetch_alone(found, q.key);
    if (frame == kReadFailed) return;
    if (frame == kNoneFree) return answer_uncached(q, entry);
    if (variant == Variant::capsule)
      create<TaskType::nonspec>(evict, {.on = store.partition_of(frame)}, found, frame);
  }
  answer(q, store.frame(frame));
  const bool is_new = !Place::has_frame(before);
  if (q.writes || is_new || (before & Place::kReferenced) == 0) {
    const std::uint64_t dirty = q.writes || (before & Place::kDirty) != 0 ? Place::kDirty : 0;
    entry.word = Place::next(is_new ? before & ~Place::kDirty : before, frame, Place::kReferenced | dirty);
  }
}

template <Variant variant>
void create_queries(std::uint32_t count, bool is_ordered) {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (is_ordered)
      create<TaskType::spec>(query<variant>, {.at = i}, i);
    else
      create<TaskType::spec>(query<variant>, {}, i);
  }
}

}  // namespace

Contents answer_by_tasks(Store& store, const std::vector<Query>& queries, Variant variant, bool is_ordered) {
  shared = Shared();
  shared.store = &store;
  shared.queries = queries.data();
  begin_fetching(store);
  const auto count = static_cast<std::uint32_t>(queries.size());
  if (variant == Variant::capsule) {
    create_queries<Variant::capsule>(count, is_ordered);
  } else if (variant == Variant::promote) {
    create_queries<Variant::promote>(count, is_ordered);
  } else {
    create_queries<Variant::memory>(count, is_ordered);
  }
  run();
  if (const FileError e = file_error(); e.error != 0)
    fail(store.path(), e.is_read ? "read" : "write", e.key, e.error);
  store.leave_disk();
  Contents contents;
  contents.wrong_reads = shared.wrong_reads;
  Buffer buffer;
  for (Key key = 0; key < store.tuples(); ++key) {
    store.read(key, buffer.words);
    contents.versions.push_back(buffer.words[kVersion]);
  }
  return contents;
}

std::string what_is_wrong(Store& store, const Contents& expected) {
  std::uint32_t in_use = 0;
  Buffer found, right;
  for (Key key = 0; key < store.tuples(); ++key) {
    in_use += Place::has_frame(store.entry(store.find(key)).word) ? 1 : 0;
    store.read(key, found.words);
    fill(right.words, key);
    while (right.words[kVersion] != expected.versions[key]) write_field(right.words);
    for (std::uint32_t i = 0; i < kWords; ++i)
      if (found.words[i] != right.words[i])
        return "word " + std::to_string(i) + " of tuple " + std::to_string(key) + " is " +
               std::to_string(found.words[i]) + ", but " + std::to_string(right.words[i]) + " was expected";
  }
  const std::uint32_t free = end_fetching();
  if (free == kNoneFree) return "not all I/O buffers have been given back";
  if (in_use + free == store.frames()) return {};
  return std::to_string(in_use) + " frames are in use and " + std::to_string(free) + " are free, of " +
         std::to_string(store.frames());
}

}  // namespace rubato::apps::kvstore
