// The files of a web site: directories as SPECweb99 has them, of 36 files in four classes, 102 bytes to 918
// KB, synthetic. Small classes are asked for more often than large ones, directories alike. They are kept one
// behind the other in a temporary file, since no core writes data that a server reads from a disk.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.hpp"

namespace rubato::workloads::web {

class Site {
 public:
  static constexpr unsigned kClasses = 4, kFilesOfClass = 9, kFilesOfDirectory = kClasses * kFilesOfClass;
  static constexpr unsigned kNotFound = ~0U;

  /// @throws std::system_error if there is no room for the files
  Site(unsigned directories, std::uint64_t seed);

  [[nodiscard]] unsigned files() const { return static_cast<unsigned>(checks_.size()); }
  /// The size in words: files are padded.
  [[nodiscard]] std::uint64_t words(unsigned file) const;
  /// The sum of its words.
  [[nodiscard]] std::uint64_t check(unsigned file) const { return checks_[file]; }
  /// From the disk. @throws std::system_error
  void read(unsigned file, std::uint64_t* to) const;

  [[nodiscard]] unsigned draw(Rng& rng) const;
  /// "/dir00012/class1_3"
  [[nodiscard]] static std::string path(unsigned file);
  /// The file of a path, or kNotFound.
  [[nodiscard]] unsigned resolve(std::string_view path) const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::unique_ptr<std::FILE, Close> disk_;
  std::vector<std::uint64_t> begins_;  // of files: bytes of the disk
  std::vector<std::uint64_t> checks_;
};

}  // namespace rubato::workloads::web
