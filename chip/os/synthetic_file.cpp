// Files that exist in the guest only: pipes, event counters, random bytes, made-up text.
// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "chip/os/open_file.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kDevice = 13;

}  // namespace

PipeEnd::PipeEnd(std::shared_ptr<PipeBuffer> pipe, std::uint32_t open_flags, std::string file_path)
    : OpenFile(open_flags, std::move(file_path)), pipe_(std::move(pipe)) {
  if (can_read()) ++pipe_->readers, ++pipe_->reader_opens;
  if (can_write()) ++pipe_->writers, ++pipe_->writer_opens;
}

PipeEnd::~PipeEnd() {
  if (can_read()) --pipe_->readers;
  if (can_write()) --pipe_->writers;
  ++pipe_->edges.in;  // the other end sees that this one has gone
  ++pipe_->edges.out;
}

std::int64_t PipeEnd::peek(std::span<std::byte> to) const {
  const auto& bytes = pipe_->bytes;
  if (bytes.empty()) return pipe_->writers == 0 ? 0 : kWouldBlock;
  const std::size_t n = std::min(to.size(), bytes.size());
  std::copy_n(bytes.begin(), n, to.begin());
  return static_cast<std::int64_t>(n);
}

std::int64_t PipeEnd::read(std::span<std::byte> to) {
  if (!can_read()) return -EBADF;
  if (to.empty()) return 0;
  auto& bytes = pipe_->bytes;
  const std::int64_t n = peek(to);
  if (n <= 0) return n;
  const bool was_writable = pipe_->capacity - bytes.size() >= PipeBuffer::kAtomic;
  bytes.erase(bytes.begin(), bytes.begin() + n);
  if (!was_writable && pipe_->capacity - bytes.size() >= PipeBuffer::kAtomic) ++pipe_->edges.out;
  return n;
}

std::int64_t PipeEnd::room() const {
  if (pipe_->readers == 0) return -EPIPE;
  const std::size_t room = pipe_->capacity - pipe_->bytes.size();
  return room == 0 ? kWouldBlock : static_cast<std::int64_t>(room);
}

void PipeEnd::put(std::span<const std::byte> from) {
  pipe_->bytes.insert(pipe_->bytes.end(), from.begin(), from.end());
  ++pipe_->edges.in;
}

std::int64_t PipeEnd::resize(std::uint32_t bytes) {
  constexpr std::uint32_t kMost = std::uint32_t{1} << 31;
  if (bytes == 0 || bytes > kMost) return -EINVAL;
  const std::size_t wanted = std::max<std::size_t>(std::bit_ceil(bytes), PipeBuffer::kAtomic);
  if (wanted > PipeBuffer::kMostCapacity && wanted > pipe_->capacity) return -EPERM;
  if (wanted < pipe_->bytes.size()) return -EBUSY;
  pipe_->capacity = wanted;
  ++pipe_->edges.out;
  return static_cast<std::int64_t>(wanted);
}

std::int64_t PipeEnd::write(std::span<const std::byte> from) {
  if (!can_write()) return -EBADF;
  if (from.empty()) return 0;
  if (pipe_->readers == 0) return -EPIPE;
  const std::size_t room = pipe_->capacity - pipe_->bytes.size();
  if (room == 0 || (from.size() <= PipeBuffer::kAtomic && room < from.size())) return kWouldBlock;
  const std::size_t n = std::min(room, from.size());
  put(from.first(n));
  return static_cast<std::int64_t>(n);
}

std::int64_t PipeEnd::stat(abi::Stat& result) {
  return stat_of_made_up(kDevice, pipe_->ino, S_IFIFO | 0600, result);
}

std::uint32_t PipeEnd::poll(std::uint32_t events) {
  std::uint32_t ready = 0;
  if (can_read()) {
    if (!pipe_->bytes.empty()) ready |= events & (PollBits::kIn | PollBits::kReadNormal);
    if (pipe_->writers == 0) ready |= PollBits::kHangUp;
  }
  if (can_write()) {
    if (pipe_->capacity - pipe_->bytes.size() >= PipeBuffer::kAtomic)
      ready |= events & (PollBits::kOut | PollBits::kWriteNormal);
    if (pipe_->readers == 0) ready |= PollBits::kError;
  }
  return ready;
}

EventCounter::EventCounter(std::uint64_t count, bool is_semaphore, std::uint32_t open_flags)
    : OpenFile(open_flags), count_(count), is_semaphore_(is_semaphore) {}

std::int64_t EventCounter::read(std::span<std::byte> to) {
  if (to.size() < 8) return -EINVAL;
  if (count_ == 0) return kWouldBlock;
  const std::uint64_t value = is_semaphore_ ? 1 : count_;
  count_ -= value;
  ++edges_.out;
  std::memcpy(to.data(), &value, 8);
  return 8;
}

std::int64_t EventCounter::write(std::span<const std::byte> from) {
  if (from.size() < 8) return -EINVAL;
  std::uint64_t value = 0;
  std::memcpy(&value, from.data(), 8);
  if (value == ~std::uint64_t{0}) return -EINVAL;
  if (value > ~std::uint64_t{0} - 1 - count_) return kWouldBlock;
  count_ += value;
  ++edges_.in;
  return 8;
}

std::int64_t EventCounter::stat(abi::Stat& result) { return stat_of_made_up(kDevice, 1, 0600, result); }

std::uint32_t EventCounter::poll(std::uint32_t events) {
  std::uint32_t ready = 0;
  if (count_ != 0) ready |= PollBits::kIn;
  if (count_ < ~std::uint64_t{0} - 1) ready |= PollBits::kOut;
  return ready & events;
}

RandomFile::RandomFile(Rng& rng, std::uint32_t open_flags, std::string file_path)
    : OpenFile(open_flags, std::move(file_path)), rng_(rng) {}

std::int64_t RandomFile::read(std::span<std::byte> to) {
  fill_random(rng_, to);
  return static_cast<std::int64_t>(to.size());
}
std::int64_t RandomFile::write(std::span<const std::byte> from) {
  return static_cast<std::int64_t>(from.size());
}

std::int64_t RandomFile::stat(abi::Stat& result) {
  stat_of_made_up(kDevice, 9, S_IFCHR | 0666, result);
  result.rdev = 0x109;
  return 0;
}

TextFile::TextFile(std::string text, std::uint32_t open_flags, std::string file_path)
    : OpenFile(open_flags, std::move(file_path)), text_(std::move(text)) {}

std::int64_t TextFile::pread(std::span<std::byte> to, std::int64_t offset) {
  if (offset < 0) return -EINVAL;
  if (static_cast<std::uint64_t>(offset) >= text_.size()) return 0;
  const std::size_t n = std::min(to.size(), text_.size() - static_cast<std::size_t>(offset));
  std::memcpy(to.data(), text_.data() + offset, n);
  return static_cast<std::int64_t>(n);
}

std::int64_t TextFile::read(std::span<std::byte> to) {
  const std::int64_t n = pread(to, static_cast<std::int64_t>(position_));
  if (n > 0) position_ += static_cast<std::size_t>(n);
  return n;
}

std::int64_t TextFile::seek(std::int64_t offset, int whence) {
  std::int64_t from = 0;
  if (whence == SEEK_CUR) from = static_cast<std::int64_t>(position_);
  if (whence == SEEK_END) from = static_cast<std::int64_t>(text_.size());
  std::int64_t target = 0;
  if (whence > SEEK_END || whence < 0 || __builtin_add_overflow(from, offset, &target) || target < 0)
    return -EINVAL;
  position_ = static_cast<std::size_t>(target);
  return target;
}

std::int64_t TextFile::stat(abi::Stat& result) { return stat_of_made_up(kDevice, 2, S_IFREG | 0444, result); }

}  // namespace rubato::chip
