// SPDX-License-Identifier: MIT
#include "cached/memory_file/item_stream.hpp"

#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "base/error.hpp"

namespace rubato::cached {

namespace {
constexpr std::size_t kBuffer = 1 << 20;  // bytes that go to the file, or come from it, at a time
constexpr std::uint8_t kMostKey = 250;
/// The bits that clients can tell an item by; the others say how it is stored.
constexpr std::uint16_t kKeptBits =
    Item::kFetched | Item::kActive | Item::kStale | Item::kTokenSent | Item::kKeyBinary;
}  // namespace

Checksum::Checksum() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
}
Checksum::~Checksum() { XXH3_freeState(state_); }
void Checksum::begin(std::uint64_t id, std::uint64_t number) {
  XXH3_64bits_reset(state_);
  add(&id, sizeof id), add(&number, sizeof number);
}
void Checksum::add(const void* data, std::size_t n) { XXH3_64bits_update(state_, data, n); }
std::uint64_t Checksum::value() const { return XXH3_64bits_digest(state_); }

ItemWriter::ItemWriter(int file, std::string name, std::uint64_t id)
    : file_(file), name_(std::move(name)), id_(id), buffer_(kBuffer) {
  put(kItemsMagic.data(), kItemsMagic.size());
  put(&id, sizeof id);
}

void ItemWriter::write(const Item& item, const KeptItem& kept) {
  const std::string_view key = item.key();
  ItemHead head{0,
                kept.cas,
                kept.time,
                kept.expiry,
                kept.flags,
                kept.length,
                static_cast<std::uint16_t>(kept.bits & kKeptBits),
                kept.segment,
                static_cast<std::uint8_t>(key.size()),
                0};
  const auto for_each_part = [&](auto&& take) {
    take(key.data(), key.size());
    std::size_t left = kept.length;  // without the end of line
    for_each_piece(item, [&](const char* piece, std::size_t n) {
      take(piece, std::min(n, left));
      left -= std::min(n, left);
    });
  };
  checksum_.begin(id_, items_);
  checksum_.add(&head, sizeof head);
  for_each_part([&](const char* part, std::size_t n) { checksum_.add(part, n); });
  head.checksum = checksum_.value();
  put(&head, sizeof head);
  for_each_part([&](const char* part, std::size_t n) { put(part, n); });
  ++items_;
}

void ItemWriter::put(const void* data, std::size_t n) {
  for (const char* from = static_cast<const char*>(data); n;) {
    const std::size_t part = std::min(n, buffer_.size() - used_);
    std::memcpy(buffer_.data() + used_, from, part);
    used_ += part, from += part, n -= part;
    if (used_ == buffer_.size()) flush();
  }
}

void ItemWriter::flush() {
  for (std::size_t at = 0; at < used_;) {
    const ssize_t written =
        ::pwrite(file_, buffer_.data() + at, used_ - at, static_cast<off_t>(flushed_ + at));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      throw Error(ExitCode{71}, fmt::format("-e: cannot write '{}': {}", name_,
                                            std::strerror(written < 0 ? errno : ENOSPC)));
    at += static_cast<std::size_t>(written);
  }
  flushed_ += used_, used_ = 0;
}

ItemReader::ItemReader(int file, std::uint64_t id) : file_(file), id_(id), buffer_(kBuffer) {}

bool ItemReader::has_right_head() {
  char magic[kItemsMagic.size()];
  std::uint64_t id = 0;
  return get(magic, sizeof magic) && std::string_view(magic, sizeof magic) == kItemsMagic &&
         get(&id, sizeof id) && id == id_;
}

bool ItemReader::next() {
  if (!get(&head_, sizeof head_) || head_.key_length > kMostKey || !get(key_, head_.key_length)) return false;
  item_ = {head_.cas,    head_.time,   head_.expiry,
           head_.flags,  head_.length, static_cast<std::uint16_t>(head_.bits & kKeptBits),
           head_.segment};
  const std::uint64_t checksum = std::exchange(head_.checksum, 0);
  checksum_.begin(id_, items_++);
  checksum_.add(&head_, sizeof head_);
  checksum_.add(key_, head_.key_length);
  head_.checksum = checksum;
  return true;
}

bool ItemReader::read_value(Item* to) {
  std::optional<Cursor> cursor;
  if (to) cursor.emplace(*to);
  for (std::size_t left = head_.length; left;) {
    const std::string_view part = some(left);
    if (part.empty()) return false;
    checksum_.add(part.data(), part.size());
    if (cursor) cursor->write(part.data(), part.size());
    left -= part.size();
  }
  if (cursor) cursor->write("\r\n", 2);
  return checksum_.value() == head_.checksum;
}

bool ItemReader::get(void* to, std::size_t n) {
  for (char* at = static_cast<char*>(to); n;) {
    const std::string_view part = some(n);
    if (part.empty()) return false;
    std::memcpy(at, part.data(), part.size());
    at += part.size(), n -= part.size();
  }
  return true;
}

std::string_view ItemReader::some(std::size_t most) {
  while (at_ == end_) {
    const ssize_t got = ::pread(file_, buffer_.data(), buffer_.size(), static_cast<off_t>(taken_));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    at_ = 0, end_ = static_cast<std::size_t>(got);
  }
  const std::size_t n = std::min(most, end_ - at_);
  const std::string_view part{buffer_.data() + at_, n};
  at_ += n, taken_ += n;
  return part;
}

}  // namespace rubato::cached
