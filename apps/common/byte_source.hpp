// A file's bytes, one after another, gzip unpacked on the way (recognized by its first bytes, not by its
// name).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

namespace rubato::apps {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills at most `size` bytes; 0 only at the end. @throws DamagedFile
  virtual std::size_t read(char* to, std::size_t size) = 0;
};

/// The compressed file is truncated or corrupt, or reading failed. A caller that knows the position makes it
/// an InputError.
class DamagedFile : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// @throws InputError if the file cannot be opened.
std::unique_ptr<ByteSource> open_bytes(const std::string& path);

}  // namespace rubato::apps
