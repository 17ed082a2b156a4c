// The stored item: header, CAS unique, key, client flags and data. Sizes are those of memcached, so `-m`,
// `-n`, `-f`, `-I` and `stats slabs` mean the same (T74). No locking here: each field's comment says
// which threads may touch it.
//
// "Chunk" is a piece of a page; an item fills one, or heads a chain of them when it is larger than
// `slab_chunk_max`. Chunks of a chain have the same header, with kChunk set.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace rubato::cached {

struct Item {
  /// LRU list (lru section); in a free chunk the free list (slabs section); in a chain the next chunk.
  Item* next;
  Item* previous;
  /// Bucket chain (item section); in a chunk of a chain its head.
  Item* chain;
  std::uint32_t time;    ///< seconds since start of the last access that was noted
  std::uint32_t expiry;  ///< seconds since start, 0: never
  std::uint32_t bytes;   ///< of the data, with CRLF; in a chunk of a chain those used in it
  std::uint16_t references;
  std::uint16_t bits;
  std::uint8_t lru;  ///< class | segment
  std::uint8_t key_length;

  enum Bits : std::uint16_t {
    kLinked = 1,
    kHasCas = 2,
    kFree = 4,
    kFetched = 8,
    kActive = 16,
    kChained = 32,
    kHasFlags = 64,
    kStale = 128,
    kTokenSent = 256,
    kKeyBinary = 512,
    kChunk = 1024,
    kMoving = 2048,  ///< a page's mover waits for its last reference
  };

  bool is(std::uint16_t bit) const { return (bits & bit) != 0; }
  void set(std::uint16_t bit) { bits = static_cast<std::uint16_t>(bits | bit); }
  void clear(std::uint16_t bit) { bits = static_cast<std::uint16_t>(bits & ~bit); }

  char* payload() { return reinterpret_cast<char*>(this + 1); }
  const char* payload() const { return reinterpret_cast<const char*>(this + 1); }
  char* key_bytes() { return payload() + (is(kHasCas) ? 8 : 0); }
  std::string_view key() const { return {payload() + (is(kHasCas) ? 8 : 0), key_length}; }
  std::uint64_t cas() const {
    std::uint64_t value = 0;
    if (is(kHasCas)) std::memcpy(&value, payload(), 8);
    return value;
  }
  void set_cas(std::uint64_t value) {
    if (is(kHasCas)) std::memcpy(payload(), &value, 8);
  }
  char* flags_bytes() { return key_bytes() + key_length + 1; }
  std::uint32_t client_flags() const {
    std::uint32_t value = 0;
    if (is(kHasFlags)) std::memcpy(&value, key().data() + key_length + 1, 4);
    return value;
  }
  /// The beginning of the data; in an item with a chain, the pointer to its first chunk.
  char* data() { return flags_bytes() + (is(kHasFlags) ? 4 : 0); }
  const char* data() const { return key().data() + key_length + 1 + (is(kHasFlags) ? 4 : 0); }
  Item* first_chunk() const {
    Item* chunk = nullptr;
    std::memcpy(&chunk, data(), sizeof chunk);
    return chunk;
  }
  void set_first_chunk(Item* chunk) { std::memcpy(data(), &chunk, sizeof chunk); }
  /// Bytes without data: what an item with a chain takes in its own chunk, less the pointer.
  std::size_t head_size() const {
    return static_cast<std::size_t>(data() - reinterpret_cast<const char*>(this));
  }
  /// The size that `stats` counts: all bytes, in the item and in its chunks.
  std::size_t total() const { return head_size() + bytes; }
};
static_assert(sizeof(Item) == 48);

constexpr std::uint8_t kSegmentMask = 192, kClassMask = 63;
enum Segment : std::uint8_t { kHot = 0, kWarm = 64, kCold = 128, kTemporary = 192 };

/// Whether an item that the cache makes itself keeps that its key came in base64: one for `N`, a longer
/// number, a joined value. memcached forgets it there; a key that would break a line of text keeps it here.
inline bool keeps_base64(std::string_view key) {
  for (const char letter : key)
    if (static_cast<unsigned char>(letter) <= ' ') return true;
  return false;
}

/// Bytes of an item before it exists.
constexpr std::size_t item_head_size(std::size_t key_length, bool has_cas, bool has_flags) {
  return sizeof(Item) + (has_cas ? 8 : 0) + key_length + 1 + (has_flags ? 4 : 0);
}

/// Calls f(pointer, length) for each contiguous piece of the data, in order.
template <class F>
void for_each_piece(const Item& item, F&& f) {
  if (!item.is(Item::kChained)) return f(item.data(), static_cast<std::size_t>(item.bytes));
  for (const Item* chunk = item.first_chunk(); chunk; chunk = chunk->next)
    f(chunk->payload(), static_cast<std::size_t>(chunk->bytes));
}

/// A place in the data of an item that is being filled or read, over chunk borders.
class Cursor {
 public:
  Cursor() = default;
  explicit Cursor(Item& item) : chunk_(item.is(Item::kChained) ? item.first_chunk() : nullptr) {
    at_ = chunk_ ? chunk_->payload() : item.data();
    left_ = chunk_ ? chunk_->bytes : item.bytes;
  }
  char* at() { return settle(), at_; }
  std::size_t contiguous() { return settle(), left_; }
  void advance(std::size_t n) { at_ += n, left_ -= n; }
  void write(const char* from, std::size_t n) {
    write_by(from, n, [](char* to, const char* piece, std::size_t part) { std::memcpy(to, piece, part); });
  }
  /// With another function that copies.
  template <class Copy>
  void write_by(const char* from, std::size_t n, Copy&& copy) {
    while (n) {
      const std::size_t part = n < contiguous() ? n : left_;
      if (!part) return;
      copy(at_, from, part);
      advance(part), from += part, n -= part;
    }
  }

 private:
  void settle() {
    while (!left_ && chunk_ && chunk_->next) {
      chunk_ = chunk_->next;
      at_ = chunk_->payload(), left_ = chunk_->bytes;
    }
  }
  Item* chunk_ = nullptr;
  char* at_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace rubato::cached
