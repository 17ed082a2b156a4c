// A folder for the files of one test, gone with the object. Its name is unique: CTest runs every test as a
// process of its own, several at a time.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace rubato {

class TemporaryFolder {
 public:
  /// Throws std::filesystem::filesystem_error where the folder cannot be made.
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "rubato-test-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr)
      throw std::filesystem::filesystem_error("cannot make a folder", pattern,
                                              std::error_code(errno, std::generic_category()));
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

  /// Writes a file in it, unchanged byte by byte; gives its path.
  std::string write(std::string_view name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace rubato
