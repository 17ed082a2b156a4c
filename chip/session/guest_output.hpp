// Output of the guest on stdout: passed on unchanged, kept in output.txt, and searched for the line `check:
// passed` or `check: failed`. It replaces file descriptor 1 itself by a pipe. So a guest never sees the kind
// of the host's stdout, and cannot depend on it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace rubato::chip {

enum class CheckVerdict : std::uint8_t { none, passed, failed };
constexpr std::string_view name_of(CheckVerdict v) {
  constexpr std::string_view names[] = {"none", "passed", "failed"};
  return names[static_cast<unsigned>(v)];
}

/// Finds the verdict in a stream of bytes: a line of its own; one failure outweighs every success.
class CheckScanner {
 public:
  void add(std::string_view bytes);
  /// Takes an unended last line into account.
  CheckVerdict verdict() const;

 private:
  void end_line();
  std::string line_;  // at most kLongest bytes of the current line
  bool too_long_ = false;
  CheckVerdict verdict_ = CheckVerdict::none;
};

class GuestOutput {
 public:
  struct Options {
    bool pass_on = true;  ///< to the stdout we were started with
    std::optional<std::filesystem::path> file = std::nullopt;
  };
  /// From now on descriptor 1 is ours. @throws UsageError if the file cannot be written.
  explicit GuestOutput(const Options& options);
  ~GuestOutput();
  GuestOutput(const GuestOutput&) = delete;
  GuestOutput& operator=(const GuestOutput&) = delete;

  /// Waits until everything printed has gone where it belongs, and gives descriptor 1 back. Idempotent.
  /// @throws UsageError if the file did not take all of it.
  void finish();

  /// After finish(): what was printed, up to kKept bytes of it.
  const std::string& text() const { return text_; }
  bool is_truncated() const { return truncated_; }
  CheckVerdict verdict() const { return scanner_.verdict(); }
  /// After finish(): the errno with which the original stdout failed to take everything, or 0. A pipe that
  /// its reader closed is no failure: the reader had enough.
  int lost() const { return lost_; }

  static constexpr std::size_t kKept = std::size_t{16} << 20;

 private:
  void pump();

  int saved_stdout_ = -1, pipe_read_ = -1, file_ = -1, lost_ = 0;
  bool pass_on_, truncated_ = false, file_failed_ = false, finished_ = false;
  std::string file_name_, text_;
  CheckScanner scanner_;
  std::thread thread_;
};

}  // namespace rubato::chip
