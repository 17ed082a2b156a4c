// A gzip file that is written front to back, in large pieces: traces and commit orders are long. No reader.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace rubato::chip {

class CompressedFile {
 public:
  /// @param what the file is, for error sentences, which name its folder: "the trace".
  /// @throws UsageError if the file cannot be made.
  CompressedFile(std::filesystem::path path, std::string what);
  ~CompressedFile();
  CompressedFile(const CompressedFile&) = delete;
  CompressedFile& operator=(const CompressedFile&) = delete;

  /// @throws UsageError if the disk does not take what has been collected so far.
  void append(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= kBufferBytes) flush();
  }
  /// Completes the file; no append() afterwards. @throws UsageError if the disk did not take all of it.
  void close();

 private:
  static constexpr std::size_t kBufferBytes = 1 << 18;
  void flush();

  std::filesystem::path path_;
  std::string what_;
  std::string buffer_;
  void* handle_;  // gzFile; null once closed
};

}  // namespace rubato::chip
