// The bytes of FILE: a head, then item after item, each with a checksum of its own. The checksum covers the
// id of the stop and the item's number, too: an item of another stop, or at another place, does not verify.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cached/core/engine.hpp"

struct XXH3_state_s;

namespace rubato::cached {

/// The first bytes of such a file.
constexpr std::string_view kItemsMagic = "rubato-cached items\n";

/// A checksum over several pieces.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;
  void begin(std::uint64_t id, std::uint64_t number);
  void add(const void* data, std::size_t n);
  std::uint64_t value() const;

 private:
  XXH3_state_s* state_;
};

/// An item's bytes in front of key and value.
struct ItemHead {
  std::uint64_t checksum, cas;
  std::uint32_t time, expiry, flags, length;
  std::uint16_t bits;
  std::uint8_t segment, key_length;
  std::uint32_t unused;
};
static_assert(sizeof(ItemHead) == 40);

class ItemWriter {
 public:
  /// Writes from the start of the file on; `name` is for errors.
  ItemWriter(int file, std::string name, std::uint64_t id);
  /// Errors: Error with exit code 71, if the file takes no more.
  void write(const Item& item, const KeptItem& kept);
  /// All that is still in memory goes to the file.
  void flush();
  std::uint64_t items() const { return items_; }
  std::uint64_t bytes() const { return flushed_ + used_; }

 private:
  void put(const void* data, std::size_t n);

  int file_;
  std::string name_;
  std::uint64_t id_, items_ = 0, flushed_ = 0;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  Checksum checksum_;
};

class ItemReader {
 public:
  ItemReader(int file, std::uint64_t id);
  /// Whether the file begins as one of that id. Before the first item.
  bool has_right_head();
  /// Reads the head and the key of the next item. False: it is not there whole.
  bool next();
  const KeptItem& item() const { return item_; }
  std::string_view key() const { return {key_, head_.key_length}; }
  /// Reads its value, with an end of line behind it, to `to`, or nowhere if that is null. False: the item is
  /// not as it was written.
  bool read_value(Item* to);
  std::uint64_t bytes() const { return taken_; }

 private:
  bool get(void* to, std::size_t n);
  /// Bytes that are there, `most` at most, and at least one before the end of the file.
  std::string_view some(std::size_t most);

  int file_;
  std::uint64_t id_, items_ = 0, taken_ = 0;
  std::vector<char> buffer_;
  std::size_t at_ = 0, end_ = 0;
  ItemHead head_{};
  KeptItem item_;
  char key_[256];
  Checksum checksum_;
};

}  // namespace rubato::cached
