// SPDX-License-Identifier: MIT
#include "chip/session/compressed_file.hpp"

#include <zlib.h>

#include <utility>

#include "base/error.hpp"

namespace rubato::chip {
namespace {

constexpr const char* kFastEnough = "wb3";  // level 3: a long trace is not to be slower than its run

gzFile handle_of(void* handle) { return static_cast<gzFile>(handle); }

}  // namespace

CompressedFile::CompressedFile(std::filesystem::path path, std::string what)
    : path_(std::move(path)), what_(std::move(what)), handle_(gzopen(path_.c_str(), kFastEnough)) {
  if (handle_ == nullptr) throw UsageError("{}: cannot write {}", path_.parent_path().string(), what_);
  buffer_.reserve(kBufferBytes + 4096);
}

CompressedFile::~CompressedFile() {
  if (handle_ != nullptr) gzclose(handle_of(handle_));
}

void CompressedFile::flush() {
  if (buffer_.empty()) return;
  if (gzwrite(handle_of(handle_), buffer_.data(), static_cast<unsigned>(buffer_.size())) <= 0)
    throw UsageError("{}: the disk does not take {}", path_.parent_path().string(), what_);
  buffer_.clear();
}

void CompressedFile::close() {
  flush();
  if (gzclose(handle_of(std::exchange(handle_, nullptr))) != Z_OK)
    throw UsageError("{}: the disk did not take all of {}", path_.parent_path().string(), what_);
}

}  // namespace rubato::chip
