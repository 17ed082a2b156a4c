// SPDX-License-Identifier: MIT
#include "chip/session/guest_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/check.hpp"
#include "base/error.hpp"

namespace rubato::chip {
namespace {

constexpr std::size_t kLongest = 64;

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

CheckVerdict verdict_of(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  if (line == "check: passed") return CheckVerdict::passed;
  if (line == "check: failed") return CheckVerdict::failed;
  return CheckVerdict::none;
}

}  // namespace

void CheckScanner::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + part.size() > kLongest) {
      too_long_ = true;
    } else {
      line_ += part;
    }
    if (end == std::string_view::npos) return;
    end_line();
    bytes.remove_prefix(end + 1);
  }
}

void CheckScanner::end_line() {
  verdict_ = verdict();
  line_.clear();
  too_long_ = false;
}

CheckVerdict CheckScanner::verdict() const {
  return too_long_ ? verdict_ : std::max(verdict_, verdict_of(line_));
}

GuestOutput::GuestOutput(const Options& options) : pass_on_(options.pass_on) {
  if (options.file) {
    file_name_ = options.file->string();
    file_ = ::open(file_name_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file_ < 0) throw UsageError("{}: cannot write: {}", file_name_, std::strerror(errno));
  }
  std::fflush(stdout);
  std::array<int, 2> ends{};
  RUBATO_CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0, "no pipe");
  pipe_read_ = ends[0];
  saved_stdout_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);  // -1: we were started without stdout
  RUBATO_CHECK(::dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO, "no descriptor 1");
  ::close(ends[1]);
  thread_ = std::thread([this] {
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);  // interrupts are the simulating thread's
    pump();
  });
}

GuestOutput::~GuestOutput() {
  try {
    finish();
  } catch (const UsageError&) {
    // Another error is already on its way to the user.
  }
}

void GuestOutput::pump() {
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t n = ::read(pipe_read_, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(n));
    if (pass_on_ && saved_stdout_ >= 0 && !write_all(saved_stdout_, bytes)) {
      pass_on_ = false;
      if (errno != EPIPE) lost_ = errno;
    }
    if (file_ >= 0 && !file_failed_ && !write_all(file_, bytes)) file_failed_ = true;
    const std::size_t kept = std::min(bytes.size(), kKept - text_.size());
    text_.append(bytes.substr(0, kept));
    truncated_ = truncated_ || kept < bytes.size();
    scanner_.add(bytes);
  }
}

void GuestOutput::finish() {
  if (finished_) return;
  finished_ = true;
  std::fflush(stdout);
  if (saved_stdout_ >= 0) {
    ::dup2(saved_stdout_, STDOUT_FILENO);  // closes the pipe's last writer
  } else {
    ::close(STDOUT_FILENO);
  }
  thread_.join();
  ::close(pipe_read_);
  if (saved_stdout_ >= 0) ::close(saved_stdout_);
  if (file_ >= 0 && ::close(file_) != 0) file_failed_ = true;
  if (file_failed_) throw UsageError("{}: the disk did not take all of the guest's output", file_name_);
}

}  // namespace rubato::chip
