// A file that a program writes when it has done its work, and what is wrong with it before.
// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "apps/common/input_error.hpp"
#include "base/writable.hpp"

namespace rubato::apps {

class OutputFile {
 public:
  /// @throws InputError if it cannot be opened.
  explicit OutputFile(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "w")) {
    if (!file_) fail(path_, errno);
  }
  std::FILE* get() const { return file_.get(); }
  /// After the last write. @throws InputError if not everything could be written.
  void finish() const {
    const bool is_written = std::ferror(get()) == 0 && std::fflush(get()) == 0;
    if (!is_written) fail(path_, errno);
  }

  /// Before long work. @throws InputError if the file cannot be written.
  static void check(const std::string& path) {
    if (const int error = writing_error(path.c_str())) fail(path, error);
  }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  [[noreturn]] static void fail(const std::string& path, int error) {
    throw InputError("cannot write " + path + ": " + std::strerror(error));
  }

  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
};

}  // namespace rubato::apps
