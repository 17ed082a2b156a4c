// SPDX-License-Identifier: MIT
#include "apps/kvstore/store.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "apps/common/input_error.hpp"

namespace rubato::apps::kvstore {
namespace {

constexpr std::uint32_t kTuplesAtOnce = 64;

Size checked(Size size, Variant variant) {
  if (variant == Variant::memory) {
    size.frames = size.tuples;
    size.free = 0;
    return size;
  }
  if (size.frames == 0) size.frames = std::max(size.tuples - size.tuples / 16, 1u) + size.free;
  if (size.frames <= size.free) {
    throw InputError("--frames " + std::to_string(size.frames) + ": more than the free ones, " +
                     std::to_string(size.free) + " (--free), were expected");
  }
  return size;
}

}  // namespace

void fail(const std::string& path, const char* what, Key key, int error) {
  throw InputError(path + ": cannot " + what + " tuple " + std::to_string(key) + ": " + std::strerror(error));
}

Store::Store(const Size& size, Variant variant, const std::string& path)
    : size_(checked(size, variant)),
      in_use_(std::min(size_.frames - size_.free, size_.tuples)),
      partitions_(std::min(in_use_, kMostPartitions)),
      path_(path) {
  if (variant != Variant::memory) make_file();
  fill_frames();
}

Store::~Store() {
  if (file_ >= 0) ::close(file_);
}

void Store::make_file() {
  file_ = path_.empty() ? ::memfd_create("kvstore", MFD_CLOEXEC)
                        : ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const bool is_in_memory = path_.empty();
  if (is_in_memory) path_ = "file in memory";
  if (file_ < 0) throw InputError("cannot write " + path_ + ": " + std::strerror(errno));
  std::vector<std::uint64_t> words(kTuplesAtOnce * kWords);
  for (Key first = 0; first < size_.tuples; first += kTuplesAtOnce) {
    const std::uint64_t count = std::min<std::uint64_t>(kTuplesAtOnce, size_.tuples - first);
    for (std::uint64_t i = 0; i < count; ++i) fill(words.data() + i * kWords, first + i);
    const auto* bytes = reinterpret_cast<const char*>(words.data());
    for (std::uint64_t done = 0; done < count * kTupleBytes;) {
      const ssize_t put = ::pwrite(file_, bytes + done, count * kTupleBytes - done,
                                   static_cast<off_t>(first * kTupleBytes + done));
      if (put <= 0) fail(path_, "write", first + done / kTupleBytes, put < 0 ? errno : ENOSPC);
      done += static_cast<std::uint64_t>(put);
    }
  }
  if (::fcntl(file_, F_SETFL, O_DIRECT) != 0 && !is_in_memory) {
    std::fprintf(stderr, "kvstore: %s: %s with O_DIRECT; requests go through the page cache\n", path_.c_str(),
                 std::strerror(errno));
  }
}

void Store::fill_frames() {
  const std::uint64_t lines = std::bit_ceil(std::uint64_t{size_.tuples} * 2) / kEntriesPerLine + 1;
  mask_ = std::bit_ceil(lines) - 1;
  entries_.resize((mask_ + 1) * kEntriesPerLine);
  frames_.resize(std::uint64_t{size_.frames} * kWords);
  constexpr std::uint32_t kOwnersPerLine = 16;
  const std::uint32_t most = (size_.frames + partitions_ - 1) / partitions_;
  owners_per_partition_ = (most + kOwnersPerLine - 1) / kOwnersPerLine * kOwnersPerLine;
  owners_.resize(std::uint64_t{owners_per_partition_} * partitions_);
  hands_.resize(std::uint64_t{partitions_} * kWordsPerLine);
  for (Key key = 0; key < size_.tuples; ++key) {
    std::uint64_t line = mix64(key) & mask_;
    const auto free_of = [&] {
      std::uint64_t i = line * kEntriesPerLine;
      while (i < (line + 1) * kEntriesPerLine && entries_[i].key != Entry::kFree) ++i;
      return i;
    };
    while (free_of() == (line + 1) * kEntriesPerLine) line = (line + 1) & mask_;
    const auto number = static_cast<std::uint32_t>(free_of());
    entries_[number].key = key;
    if (key >= in_use_) continue;
    const auto frame_number = static_cast<std::uint32_t>(key);
    fill(frame(frame_number), key);
    owner(frame_number) = number + 1;
    entries_[number].word = Place::next(0, frame_number, 0);
  }
}

void Store::leave_disk() {
  if (file_ >= 0) ::fcntl(file_, F_SETFL, 0);
}

void Store::read(Key key, std::uint64_t* to) {
  const std::uint64_t word = entry(find(key)).word;
  if (Place::has_frame(word)) {
    std::copy_n(frame(Place::frame(word)), kWords, to);
    return;
  }
  const ssize_t got = ::pread(file_, to, kTupleBytes, static_cast<off_t>(key * kTupleBytes));
  if (got != kTupleBytes) fail(path_, "read", key, got < 0 ? errno : EIO);
}

}  // namespace rubato::apps::kvstore
