// A file that a program writes when it has done its work: whole or not at all. A place that cannot be written
// is refused before the work.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "apps/common/input_error.hpp"
#include "base/writable.hpp"

namespace rubato::apps {

/// File that is written beside its place, and moved there when it is finished; an older one stays until then.
/// Devices, pipes and a file that is standard output already are written directly.
class OutputFile {
 public:
  /// @throws InputError if it cannot be opened.
  explicit OutputFile(const std::string& path) : path_(path), target_(replaced_file(path)) {
    file_.reset(target_.empty() ? open_as_it_is(path) : std::fopen(part_of(target_).c_str(), "w"));
    if (!file_) fail(path_, errno);
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() {
    if (!target_.empty()) std::remove(part_of(target_).c_str());
  }
  std::FILE* get() const { return file_.get(); }
  /// After the last write. @throws InputError if not everything could be written.
  void finish() {
    bool is_written = std::ferror(get()) == 0;
    is_written = std::fclose(file_.release()) == 0 && is_written;
    if (is_written && !target_.empty()) {
      is_written = std::rename(part_of(target_).c_str(), target_.c_str()) == 0;
    }
    if (!is_written) fail(path_, errno);
    target_.clear();
  }

  /// Before long work. @throws InputError if the file cannot be written.
  static void check(const std::string& path) {
    const std::string target = replaced_file(path);
    int error = writing_error(target.empty() ? path.c_str() : target.c_str());
    if (error == 0 && !target.empty()) error = writing_error(part_of(target).c_str());
    if (error != 0) fail(path, error);
  }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  [[noreturn]] static void fail(const std::string& path, int error) {
    throw InputError("cannot write " + path + ": " + std::strerror(error));
  }

  static bool is_standard_output(const struct stat& file) {
    struct stat output {};
    return fstat(STDOUT_FILENO, &output) == 0 && output.st_dev == file.st_dev && output.st_ino == file.st_ino;
  }

  /// The regular file that is made or replaced, behind all links; empty if there is something else.
  static std::string replaced_file(const std::string& path) {
    struct stat info {};
    if (stat(path.c_str(), &info) == 0) {
      if (!S_ISREG(info.st_mode) || is_standard_output(info)) return {};
    } else if (errno != ENOENT) {
      return {};  // opening it says what is wrong
    }
    std::filesystem::path file = path;
    std::error_code ignored;
    while (std::filesystem::is_symlink(file, ignored)) {
      file = file.parent_path() / std::filesystem::read_symlink(file, ignored);
    }
    return file;
  }
  static std::string part_of(const std::string& target) { return target + ".part"; }

  /// Standard output shares its position: opened anew, the one would overwrite the other.
  static std::FILE* open_as_it_is(const std::string& path) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0 || !is_standard_output(info)) return std::fopen(path.c_str(), "w");
    std::fflush(stdout);
    const int descriptor = dup(STDOUT_FILENO);
    return descriptor < 0 ? nullptr : fdopen(descriptor, "w");
  }

  std::string path_, target_;
  std::unique_ptr<std::FILE, Closer> file_;
};

}  // namespace rubato::apps
