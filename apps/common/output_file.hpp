// A file that a program writes when it has done its work, and what is wrong with it before.
// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "apps/common/input_error.hpp"

namespace rubato::apps {

class OutputFile {
 public:
  /// @throws InputError if it cannot be opened.
  explicit OutputFile(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "w")) {
    if (!file_) fail(path_);
  }
  std::FILE* get() const { return file_.get(); }
  /// After the last write. @throws InputError if not everything could be written.
  void finish() const {
    const bool is_written = std::ferror(get()) == 0 && std::fflush(get()) == 0;
    if (!is_written) fail(path_);
  }

  /// Finds before long work what would only be found behind it, and leaves what is there as it is.
  /// @throws InputError if the file cannot be written.
  static void check(const std::string& path) {
    const bool was_there = access(path.c_str(), F_OK) == 0;
    std::FILE* const file = std::fopen(path.c_str(), "a");
    if (file == nullptr) fail(path);
    std::fclose(file);
    if (!was_there) std::remove(path.c_str());
  }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  [[noreturn]] static void fail(const std::string& path) {
    throw InputError("cannot write " + path + ": " + std::strerror(errno));
  }

  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
};

}  // namespace rubato::apps
