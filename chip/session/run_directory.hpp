// The directory of a run (C24). Files appear whole or not at all: they are written beside their place and
// renamed. `incomplete` is there from the first moment until finish(), so a run that was killed is known as
// such.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace rubato::chip {

class RunDirectory {
 public:
  /// Makes the directory, or empties it of an earlier run's files: others are left alone.
  /// @throws UsageError if `path` is no directory, holds something but is no run directory, or cannot be
  /// written.
  explicit RunDirectory(std::filesystem::path path);
  /// Nothing half written remains.
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path file(std::string_view name) const { return path_ / name; }

  /// Replaces `name` by `content` in one step. @throws UsageError if the disk does not take it.
  void write(std::string_view name, std::string_view content) const;
  /// Puts a file that was written as temporary(name) in its place.
  void publish(std::string_view name) const;
  std::filesystem::path temporary(std::string_view name) const;

  /// The run is whole: removes `incomplete`. To be called last.
  void finish();

 private:
  void remove_temporaries() const;

  std::filesystem::path path_;
};

/// The bytes of a file. @throws UsageError if it cannot be read.
std::string read_file(const std::filesystem::path& path);

}  // namespace rubato::chip
