// SPDX-License-Identifier: MIT
#include "chip/os/file_locks.hpp"

#include <sys/stat.h>

#include <algorithm>

namespace rubato::chip {

std::optional<FileId> id_of(const OpenFile& file) {
  struct stat info {};
  if (file.host_fd() < 0 || ::fstat(file.host_fd(), &info) != 0) return std::nullopt;
  return FileId{info.st_dev, info.st_ino};
}

bool FileLocks::is_of_same(const Lock& a, const Lock& b) {
  if (a.kind != b.kind || a.file != b.file || a.pid != b.pid) return false;
  return a.pid != 0 || (!a.open_file.owner_before(b.open_file) && !b.open_file.owner_before(a.open_file));
}

void FileLocks::forget_closed() {
  std::erase_if(locks_, [](const Lock& lock) { return lock.pid == 0 && lock.open_file.expired(); });
}

const FileLocks::Lock* FileLocks::conflict(const Lock& wanted) {
  forget_closed();
  const Lock* first = nullptr;
  for (const Lock& lock : locks_) {
    if (lock.kind != wanted.kind || lock.file != wanted.file || is_of_same(lock, wanted)) continue;
    if (lock.begin >= wanted.end || wanted.begin >= lock.end) continue;
    if ((lock.is_exclusive || wanted.is_exclusive) && (first == nullptr || lock.begin < first->begin))
      first = &lock;
  }
  return first;
}

bool FileLocks::remove(const Lock& lock) {
  std::vector<Lock> rest;
  const auto had = std::erase_if(locks_, [&](const Lock& own) {
    if (!is_of_same(own, lock) || own.begin >= lock.end || lock.begin >= own.end) return false;
    Lock before = own, behind = own;
    before.end = lock.begin;
    behind.begin = lock.end;
    if (before.begin < before.end) rest.push_back(before);
    if (behind.begin < behind.end) rest.push_back(behind);
    return true;
  });
  locks_.insert(locks_.end(), rest.begin(), rest.end());
  return had != 0;
}

void FileLocks::put(const Lock& lock) {
  remove(lock);
  Lock all = lock;  // with its neighbours of the same kind
  std::erase_if(locks_, [&](const Lock& own) {
    if (!is_of_same(own, all) || own.is_exclusive != all.is_exclusive) return false;
    if (own.end != all.begin && own.begin != all.end) return false;
    all.begin = std::min(all.begin, own.begin);
    all.end = std::max(all.end, own.end);
    return true;
  });
  locks_.push_back(all);
}

void FileLocks::release(int pid, FileId file) {
  std::erase_if(locks_, [&](const Lock& lock) { return lock.pid == pid && lock.file == file; });
}

bool FileLocks::is_locked(FileId file) {
  forget_closed();
  return std::any_of(locks_.begin(), locks_.end(), [&](const Lock& lock) { return lock.file == file; });
}

void FileLocks::release(int pid) {
  std::erase_if(locks_, [&](const Lock& lock) { return lock.pid == pid; });
}

}  // namespace rubato::chip
