// SPDX-License-Identifier: MIT
#include "workloads/web/site.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace rubato::workloads::web {

namespace {

/// A file of the working directory without a name: the chip lets programs write nowhere else.
std::FILE* unnamed_file() {
  std::array<char, 16> name{"web-site-XXXXXX"};
  const int file = mkstemp(name.data());
  if (file < 0) return nullptr;
  unlink(name.data());
  return fdopen(file, "w+");
}

[[noreturn]] void refuse(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

std::uint64_t content(unsigned file, std::uint64_t word, std::uint64_t seed) {
  const std::uint64_t x = ((std::uint64_t{file} << 32 | word) ^ seed) * 0x9e3779b97f4a7c15ULL;
  return x ^ (x >> 29);
}

}  // namespace

Site::Site(unsigned directories, std::uint64_t seed)
    : disk_(unnamed_file()), checks_(std::size_t{directories} * kFilesOfDirectory) {
  if (disk_ == nullptr) refuse("cannot keep the site's files");
  std::vector<std::uint64_t> text;
  std::uint64_t bytes = 0;
  for (unsigned file = 0; file < files(); ++file) {
    text.resize(words(file));
    for (std::uint64_t i = 0; i < text.size(); ++i) {
      text[i] = content(file, i, mix64(seed));
      checks_[file] += text[i];
    }
    if (std::fwrite(text.data(), 8, text.size(), disk_.get()) != text.size())
      refuse("cannot keep the site's files");
    begins_.push_back(bytes);
    bytes += 8 * text.size();
  }
  if (std::fflush(disk_.get()) != 0) refuse("cannot keep the site's files");
}

std::uint64_t Site::words(unsigned file) const {
  static constexpr std::array<std::uint64_t, kClasses> kStep{102, 1020, 10'200, 102'000};
  const unsigned in_directory = file % kFilesOfDirectory;
  return (kStep[in_directory / kFilesOfClass] * (in_directory % kFilesOfClass + 1) + 7) / 8;
}

void Site::read(unsigned file, std::uint64_t* to) const {
  auto* at = reinterpret_cast<char*>(to);
  std::uint64_t from = begins_[file], left = 8 * words(file);
  while (left != 0) {
    const ssize_t got = pread(fileno(disk_.get()), at, left, static_cast<off_t>(from));
    if (got == 0) errno = EIO;  // it is shorter than it was written
    if (got <= 0) refuse("cannot read the site's files");
    at += got;
    from += static_cast<std::uint64_t>(got);
    left -= static_cast<std::uint64_t>(got);
  }
}

unsigned Site::draw(Rng& rng) const {
  const auto directory = static_cast<unsigned>(rng.below(files() / kFilesOfDirectory));
  const std::uint64_t percent = rng.below(100);
  const unsigned of_class = percent < 35 ? 0 : percent < 85 ? 1 : percent < 99 ? 2 : 3;
  return directory * kFilesOfDirectory + of_class * kFilesOfClass +
         static_cast<unsigned>(rng.below(kFilesOfClass));
}

std::string Site::path(unsigned file) {
  std::array<char, 32> text;
  const unsigned in_directory = file % kFilesOfDirectory;
  std::snprintf(text.data(), text.size(), "/dir%05u/class%u_%u", file / kFilesOfDirectory,
                in_directory / kFilesOfClass, in_directory % kFilesOfClass);
  return text.data();
}

unsigned Site::resolve(std::string_view path) const {
  // The only spelling of each path: its parts are compared, then its digits.
  if (path.size() != 18 || path.substr(0, 4) != "/dir" || path.substr(9, 6) != "/class" || path[16] != '_')
    return kNotFound;
  const auto digit = [&](std::size_t at) { return static_cast<unsigned>(path[at]) - '0'; };
  unsigned directory = 0;
  for (std::size_t i = 4; i < 9; ++i) {
    if (digit(i) > 9) return kNotFound;
    directory = 10 * directory + digit(i);
  }
  if (digit(15) >= kClasses || digit(17) >= kFilesOfClass) return kNotFound;
  const unsigned file = directory * kFilesOfDirectory + digit(15) * kFilesOfClass + digit(17);
  return file < files() ? file : kNotFound;
}

}  // namespace rubato::workloads::web
