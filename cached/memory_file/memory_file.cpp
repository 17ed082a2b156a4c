// SPDX-License-Identifier: MIT
#include "cached/memory_file/memory_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "cached/memory_file/item_stream.hpp"

namespace rubato::cached {

namespace {

using SteadyClock = std::chrono::steady_clock;

/// Says on standard error how far it is, every five seconds.
class Progress {
 public:
  explicit Progress(const char* what) : what_(what) {}
  void at(std::uint64_t items) {
    if (items % 4096 || SteadyClock::now() < next_) return;
    next_ += kInterval;
    fmt::print(stderr, "rubato-cached: -e: {} items are {} so far\n", items, what_);
  }
  double seconds() const { return std::chrono::duration<double>(SteadyClock::now() - start_).count(); }

 private:
  static constexpr std::chrono::seconds kInterval{5};
  const char* what_;
  SteadyClock::time_point start_ = SteadyClock::now(), next_ = start_ + kInterval;
};

bool is_cold(const Item& item) { return (item.lru & kSegmentMask) == kCold; }

double megabytes(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

KeptItem kept_of(const Item& item) {
  return {item.cas(),
          item.time,
          item.expiry,
          item.client_flags(),
          item.bytes - 2,
          item.bits,
          static_cast<std::uint8_t>(item.lru & kSegmentMask)};
}

/// The file itself, where `name` is a link to it.
std::string followed(const std::string& name) {
  std::error_code error;
  const auto path = std::filesystem::canonical(name, error);
  return error ? name : path.string();
}

std::string folder_of(const std::string& name) {
  const auto folder = std::filesystem::path(name).parent_path();
  return folder.empty() ? "." : folder.string();
}

std::uint64_t new_id() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace

MemoryFile::MemoryFile(const std::string& name)
    : name_(followed(name)), meta_name_(name_ + ".meta"), new_meta_name_(meta_name_ + ".new") {
  open_files();
  look_at_meta();
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  new_meta_ = OwnedFd(::open(new_meta_name_.c_str(), kFlags, 0600));
  if (new_meta_.get() < 0) fail(fmt::format("cannot write '{}'", new_meta_name_));
  has_new_meta_ = true;
}

MemoryFile::~MemoryFile() {
  if (has_new_meta_) ::unlink(new_meta_name_.c_str());
}

void MemoryFile::fail(const std::string& what) const {
  throw Error(ExitCode{71}, fmt::format("-e: {}: {}", what, std::strerror(errno)));
}

void MemoryFile::open_files() {
  file_ = OwnedFd(::open(name_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (file_.get() < 0) fail(fmt::format("cannot open '{}' for reading and writing", name_));
  struct stat status {};
  ::fstat(file_.get(), &status);
  if (!S_ISREG(status.st_mode))
    throw Error(ExitCode{71}, fmt::format("-e: '{}' is not a regular file", name_));
  if (::flock(file_.get(), LOCK_EX | LOCK_NB)) {
    if (errno == EWOULDBLOCK)
      throw Error(ExitCode{71},
                  fmt::format("-e: another server uses '{}'; wait for its end, or name another file", name_));
    fail(fmt::format("cannot lock '{}'", name_));
  }
  folder_ = OwnedFd(::open(folder_of(name_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder_.get() < 0) fail(fmt::format("cannot open the folder of '{}'", name_));
}

void MemoryFile::look_at_meta() {
  errno = 0;
  std::ifstream file(meta_name_, std::ios::binary);
  if (!file) {
    if (errno != ENOENT) fail(fmt::format("cannot read '{}'", meta_name_));
    char magic[kItemsMagic.size()];
    const ssize_t got = ::pread(file_.get(), magic, sizeof magic, 0);
    if (got > 0 && std::string_view(magic, static_cast<std::size_t>(got)) != kItemsMagic)
      throw Error(ExitCode{71},
                  fmt::format("-e: '{}' is not a file of rubato-cached, and would be overwritten; "
                              "remove it, or name another file",
                              name_));
    return start_empty(fmt::format("there is no '{}'", meta_name_));
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  switch (read_meta(text, meta_)) {
    case MetaKind::whole:
      has_items_ = true;
      return;
    case MetaKind::damaged:
      return start_empty(fmt::format("'{}' is damaged", meta_name_));
    case MetaKind::other_format:
      return start_empty(fmt::format("'{}' is of another version", meta_name_));
    case MetaKind::memcached:
      return start_empty(fmt::format("'{}' is memcached's, whose items are not readable", meta_name_));
    case MetaKind::foreign:
      break;
  }
  throw Error(ExitCode{71}, fmt::format("-e: '{}' is not a file of rubato-cached; remove it to start without "
                                        "items, or name another file",
                                        meta_name_));
}

void MemoryFile::start_empty(const std::string& reason) {
  has_items_ = false;
  fmt::print(stderr, "rubato-cached: -e: the cache starts empty: {}\n", reason);
}

bool MemoryFile::resume(Clock& clock) const {
  const std::int64_t down = std::time(nullptr) - meta_.stopped;
  if (down < 0) return false;
  clock.go_on_from(static_cast<std::uint32_t>(meta_.clock + down));
  return true;
}

std::uint64_t MemoryFile::take_back(CacheEngine& engine, Clock& clock, HashFunction hash) {
  if (!has_items_) return 0;
  ItemReader reader(file_.get(), meta_.id);
  if (!reader.has_right_head()) {
    start_empty(fmt::format("'{}' does not belong to '{}'", name_, meta_name_));
    return 0;
  }
  if (!resume(clock)) {
    start_empty("the clock of this system is before the time of the stop");
    return 0;
  }
  engine.take_back(meta_.state);
  Progress progress("back");
  std::uint64_t back = 0, gone = 0, no_room = 0, read = 0;
  for (; read < meta_.items && reader.next(); ++read) {
    const Key key{reader.key(), hash(reader.key())};
    const bool is_gone = engine.is_gone(reader.item());
    Item* const item = is_gone ? nullptr : engine.room_for(key, reader.item());
    if (!reader.read_value(item)) {
      if (item) engine.give_up(item, key);
      break;
    }
    gone += is_gone, no_room += !is_gone && !item;
    if (item) back += engine.take_back(item, key, reader.item());
    progress.at(read);
  }
  if (read < meta_.items || reader.bytes() != meta_.length)
    fmt::print(stderr, "rubato-cached: -e: '{}' is damaged at byte {}: what follows is lost\n", name_,
               reader.bytes());
  fmt::print(
      stderr,
      "rubato-cached: -e: {} of {} items ({:.1f} MB) are back after {:.1f} s; {} had expired, {} found no "
      "room\n",
      back, meta_.items, megabytes(reader.bytes()), progress.seconds(), gone, no_room);
  return back;
}

void MemoryFile::forget() {
  if (::unlink(meta_name_.c_str()) && errno != ENOENT) fail(fmt::format("cannot remove '{}'", meta_name_));
  if (::fsync(folder_.get())) fail(fmt::format("cannot write the folder of '{}'", name_));
  if (::ftruncate(file_.get(), 0)) fail(fmt::format("cannot empty '{}'", name_));
}

void MemoryFile::save(CacheEngine& engine, Clock& clock) {
  struct stat ours {
  }, there{};
  if (::stat(name_.c_str(), &there)) fail(fmt::format("items are lost: cannot find '{}'", name_));
  ::fstat(file_.get(), &ours);
  if (ours.st_dev != there.st_dev || ours.st_ino != there.st_ino)
    throw Error(ExitCode{71},
                fmt::format("-e: items are lost: '{}' is not the file that it was at the start", name_));
  try {
    write_meta(write_items(engine, clock));
  } catch (const Error& error) {
    [[maybe_unused]] const int result = ::ftruncate(file_.get(), 0);
    throw Error(error.code(), fmt::format("{}; the items are lost", error.what()));
  }
}

// Newest first: where there is less room at the next start, the oldest find none. Within a list its order
// counts, between lists the time of an item; within a second a cold item is the older one.
Meta MemoryFile::write_items(CacheEngine& engine, Clock& clock) {
  clock.tick();
  Meta meta;
  meta.id = new_id(), meta.stopped = std::time(nullptr), meta.clock = clock.now();
  meta.state = engine.kept_state();
  std::vector<const Item*> heads;
  engine.newest(heads);
  const auto is_older = [](const Item* a, const Item* b) {
    return a->time != b->time ? a->time < b->time : is_cold(*a) && !is_cold(*b);
  };
  std::priority_queue<const Item*, std::vector<const Item*>, decltype(is_older)> next(is_older,
                                                                                      std::move(heads));
  Progress progress("written");
  ItemWriter writer(file_.get(), name_, meta.id);
  while (!next.empty()) {
    const Item& item = *next.top();
    next.pop();
    if (item.next) next.push(item.next);
    const KeptItem kept = kept_of(item);
    if (engine.is_gone(kept)) continue;
    writer.write(item, kept);
    progress.at(writer.items());
  }
  writer.flush();
  if (::fsync(file_.get())) fail(fmt::format("cannot write '{}'", name_));
  meta.items = writer.items(), meta.length = writer.bytes();
  fmt::print(stderr, "rubato-cached: -e: {} items ({:.1f} MB) are written to '{}' after {:.1f} s\n",
             meta.items, megabytes(meta.length), name_, progress.seconds());
  return meta;
}

void MemoryFile::write_meta(const Meta& meta) {
  const std::string text = meta_text(meta);
  const ssize_t written = ::write(new_meta_.get(), text.data(), text.size());
  const bool is_whole = written == static_cast<ssize_t>(text.size());
  if (written >= 0 && !is_whole) errno = ENOSPC;
  if (!is_whole || ::fsync(new_meta_.get())) fail(fmt::format("cannot write '{}'", new_meta_name_));
  if (::rename(new_meta_name_.c_str(), meta_name_.c_str()))
    fail(fmt::format("cannot rename '{}' to '{}'", new_meta_name_, meta_name_));
  has_new_meta_ = false;
  if (::fsync(folder_.get())) fail(fmt::format("cannot write the folder of '{}'", name_));
}

}  // namespace rubato::cached
