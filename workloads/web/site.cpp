// SPDX-License-Identifier: MIT
#include "workloads/web/site.hpp"

#include <array>
#include <cstdio>

namespace rubato::workloads::web {

Site::Site(unsigned directories, std::uint64_t seed)
    : seed_(mix64(seed)), checks_(std::size_t{directories} * kFilesOfDirectory) {
  for (unsigned file = 0; file < files(); ++file)
    for (std::uint64_t i = 0; i < words(file); ++i) checks_[file] += content(file, i);
}

std::uint64_t Site::words(unsigned file) const {
  static constexpr std::array<std::uint64_t, kClasses> kStep{102, 1020, 10'200, 102'000};
  const unsigned in_directory = file % kFilesOfDirectory;
  return (kStep[in_directory / kFilesOfClass] * (in_directory % kFilesOfClass + 1) + 7) / 8;
}

void Site::read(unsigned file, std::uint64_t* to) const {
  const std::uint64_t end = words(file);
  for (std::uint64_t i = 0; i < end; ++i) to[i] = content(file, i);
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
