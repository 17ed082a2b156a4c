// SPDX-License-Identifier: MIT
#include "chip/memory/file_views.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace rubato::chip {

MappedFile::MappedFile(int fd, FileId id, bool is_writable, std::string path)
    : fd_(fd), id_(id), is_writable_(is_writable), path_(std::move(path)) {}

MappedFile::~MappedFile() { ::close(fd_); }

std::uint64_t MappedFile::bytes() const {
  struct stat info {};
  return ::fstat(fd_, &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

void FileViews::add(Range range) {
  const Addr begin = range.begin;
  if (begin != range.end) ranges_.emplace(begin, std::move(range));
}

void FileViews::cut(Addr a) {
  auto range = ranges_.lower_bound(a);
  if (range == ranges_.begin()) return;
  Range& first = std::prev(range)->second;
  if (first.end <= a) return;
  Range second = first;
  second.begin = a;
  second.view.offset += a - first.begin;
  second.shown_end = std::max(first.shown_end, a);
  first.end = a;
  first.shown_end = std::min(first.shown_end, a);
  ranges_.emplace(a, std::move(second));
}

std::vector<FileViews::Range> FileViews::in(Addr begin, Addr end) const {
  std::vector<Range> found;
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin()) --next;
  for (; next != ranges_.end() && next->first < end; ++next) {
    Range range = next->second;
    if (range.end <= begin) continue;
    const Addr from = std::max(range.begin, begin), to = std::min(range.end, end);
    range.view.offset += from - range.begin;
    range.begin = from;
    range.end = to;
    range.shown_end = std::clamp(range.shown_end, from, to);
    found.push_back(std::move(range));
  }
  return found;
}

std::vector<FileViews::Range> FileViews::take(Addr begin, Addr end) {
  if (ranges_.empty()) return {};
  cut(begin);
  cut(end);
  std::vector<Range> taken;
  auto next = ranges_.lower_bound(begin);
  while (next != ranges_.end() && next->first < end) {
    taken.push_back(std::move(next->second));
    next = ranges_.erase(next);
  }
  return taken;
}

const FileViews::Range* FileViews::at(Addr a) const {
  auto next = ranges_.upper_bound(a);
  if (next == ranges_.begin()) return nullptr;
  const Range& range = std::prev(next)->second;
  return a < range.end ? &range : nullptr;
}

void FileViews::change(Addr begin, Addr end, const std::function<void(Range&)>& change) {
  if (ranges_.empty()) return;
  cut(begin);
  cut(end);
  for (auto next = ranges_.lower_bound(begin); next != ranges_.end() && next->first < end; ++next)
    change(next->second);
}

std::shared_ptr<const MappedFile> FileViews::find(FileId id, bool is_writable) const {
  for (const auto& [begin, range] : ranges_)
    if (range.view.file && range.view.file->id() == id && range.view.file->is_writable() == is_writable)
      return range.view.file;
  return nullptr;
}

std::vector<std::pair<Addr, Addr>> FileViews::of(FileId id, std::uint64_t offset, std::uint64_t bytes) const {
  std::vector<std::pair<Addr, Addr>> found;
  for (const auto& [begin, range] : ranges_) {
    if (!range.view.file || range.view.file->id() != id) continue;
    const std::uint64_t shown = range.shown_end - begin, first = range.view.offset;
    const std::uint64_t from = std::max(offset, first);
    const std::uint64_t to = std::min(bytes > ~offset ? ~std::uint64_t{0} : offset + bytes, first + shown);
    if (from < to) found.emplace_back(begin + (from - first), begin + (to - first));
  }
  return found;
}

}  // namespace rubato::chip
