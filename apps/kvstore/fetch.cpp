// SPDX-License-Identifier: MIT
#include "apps/kvstore/fetch.hpp"

#include <sys/syscall.h>

#include <cerrno>
#include <new>

namespace rubato::apps::kvstore {
namespace {

struct Pool {
  capsule::TicketLock lock;
  std::uint32_t frame_count = 0, buffer_count = 0;
  std::uint32_t* frames = nullptr;  // a stack, as `buffers`
  unsigned char** buffers = nullptr;
  unsigned char* first_buffer = nullptr;  // all of them
  Word* memory = nullptr;                 // of frames
  std::uint64_t tuples = 0;
  std::uint32_t frame_limit = 0, buffer_limit = 0;
  int file = -1;
  FileError error;
};
RUBATO_UNTRACKED untracked<Pool> pool;

template <class T>
T* untracked_array(std::uint64_t count) {
  void* const memory = map_untracked(count * sizeof(T));
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<T*>(memory);
}

[[gnu::always_inline]] inline void note_error(bool is_read, Key key, std::int64_t result) {
  pool->lock.lock();
  if (pool->error.error == 0)
    pool->error = {.error = result < 0 ? static_cast<int>(-result) : EIO, .is_read = is_read, .key = key};
  pool->lock.unlock();
}

}  // namespace

void begin_fetching(Store& store) {
  Pool& p = *pool;
  p = Pool();
  p.frame_limit = store.frames();
  p.buffer_limit = store.free_frames();
  p.memory = store.frame(0);
  p.tuples = store.tuples();
  p.file = store.file();
  p.frames = untracked_array<std::uint32_t>(p.frame_limit + std::uint64_t{1});
  p.buffers = untracked_array<unsigned char*>(p.buffer_limit + std::uint64_t{1});
  p.first_buffer = untracked_array<unsigned char>((p.buffer_limit + std::uint64_t{1}) * kTupleBytes);
  for (std::uint32_t frame = store.frames(); frame > store.in_use(); --frame)
    p.frames[p.frame_count++] = frame - 1;
  while (p.buffer_count < p.buffer_limit) {
    p.buffers[p.buffer_count] = p.first_buffer + std::uint64_t{p.buffer_count} * kTupleBytes;
    ++p.buffer_count;
  }
}

std::uint32_t end_fetching() {
  Pool& p = *pool;
  unmap_untracked(p.frames, (p.frame_limit + std::uint64_t{1}) * sizeof(std::uint32_t));
  unmap_untracked(p.buffers, (p.buffer_limit + std::uint64_t{1}) * sizeof(unsigned char*));
  unmap_untracked(p.first_buffer, (p.buffer_limit + std::uint64_t{1}) * kTupleBytes);
  return p.buffer_count == p.buffer_limit ? p.frame_count : kNoneFree;
}

void give_frame(std::uint32_t frame) {
  pool->lock.lock();
  pool->frames[pool->frame_count++] = frame;
  pool->lock.unlock();
}

FileError file_error() { return pool->error; }
void note_file_error(bool is_read, Key key, std::int64_t result) { note_error(is_read, key, result); }

}  // namespace rubato::apps::kvstore

// Without a frame and a buffer it takes neither: what was taken behind a handler may be given back by that
// alone.
RUBATO_CAPSULE(std::uint32_t, kvstore_fetch, (std::uint64_t key)) {
  namespace kv = rubato::apps::kvstore;
  namespace capsule = rubato::capsule;
  kv::Pool& pool = *kv::pool;
  if (key >= pool.tuples) return kv::kNoneFree;  // of a task that went wrong
  pool.lock.lock();
  const bool has_both = pool.frame_count != 0 && pool.buffer_count != 0;
  const std::uint32_t frame = has_both ? pool.frames[--pool.frame_count] : kv::kNoneFree;
  unsigned char* const buffer = has_both ? pool.buffers[--pool.buffer_count] : nullptr;
  pool.lock.unlock();
  if (!has_both) return kv::kNoneFree;
  capsule::on_abort([](std::uint32_t given) { kv::give_frame(given); }, frame);

  const std::int64_t got =
      capsule::system_call(SYS_pread64, pool.file, buffer, kv::kTupleBytes, key * kv::kTupleBytes);
  const bool is_read = got == kv::kTupleBytes;
  if (is_read) {
    // Volatile: a loop, and no call of a C library's memcpy, which an indirection in tracked memory chooses.
    const auto* const from = reinterpret_cast<const volatile std::uint64_t*>(buffer);
    kv::Word* const to = pool.memory + std::uint64_t{frame} * kv::kWords;
    for (std::uint32_t i = 0; i < kv::kWords; ++i) to[i] = from[i];
  } else if (!capsule::is_doomed()) {
    kv::note_error(true, key, got);
  }
  pool.lock.lock();
  pool.buffers[pool.buffer_count++] = buffer;
  pool.lock.unlock();
  return is_read ? frame : kv::kReadFailed;
}
