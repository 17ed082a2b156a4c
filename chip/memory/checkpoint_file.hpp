// Files of checkpoints: numbers, texts and bytes one after the other, compressed. Only their writers and
// readers know the order. A file that is cut off, of another kind or of another version is refused.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace rubato::chip {

class CheckpointWriter {
 public:
  /// @throws UsageError if the file cannot be made. It appears under its name with close() only.
  explicit CheckpointWriter(std::filesystem::path path);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// @throws UsageError, all of these, if the disk does not take it.
  void bytes(std::span<const std::byte> data);
  void number(std::uint64_t value) { object(value); }
  void text(std::string_view value);
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void object(const T& value) {
    bytes(std::as_bytes(std::span(&value, 1)));
  }
  /// Completes the file. @returns its bytes.
  std::uint64_t close();

 private:
  std::filesystem::path path_, temporary_;
  void* handle_;  // gzFile; null once closed
};

class CheckpointReader {
 public:
  /// @throws UsageError if there is no such file, or it is no checkpoint of this version.
  explicit CheckpointReader(std::filesystem::path path);
  ~CheckpointReader();
  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  /// @throws UsageError, all of these, if the file ends before.
  void bytes(std::span<std::byte> data);
  std::uint64_t number() { return object<std::uint64_t>(); }
  std::string text();
  template <class T>
    requires std::is_trivially_copyable_v<T>
  T object() {
    T value;
    bytes(std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  const std::filesystem::path& path() const { return path_; }
  /// @throws UsageError: a value that was read is impossible.
  [[noreturn]] void refuse_damaged() const;

 private:
  std::filesystem::path path_;
  void* handle_;  // gzFile
};

}  // namespace rubato::chip
