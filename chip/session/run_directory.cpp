// SPDX-License-Identifier: MIT
#include "chip/session/run_directory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/error.hpp"

namespace rubato::chip {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIncomplete = "incomplete";
// Files of a run of either engine: a run replaces those of an earlier one.
constexpr const char* kFiles[] = {"run.toml",      "stats.json",     "summary.json", "series.json",
                                  "trace.json.gz", "commits.tsv.gz", "output.txt",   "log.txt",
                                  "progress.json", "counters.json",  "trace.json",   "instructions.tsv.gz",
                                  "watch.tsv.gz"};

[[noreturn]] void cannot_write(const fs::path& path, int error) {
  throw UsageError("{}: cannot write: {}", path.string(), std::strerror(error));
}

/// "output-2.txt" and so on, of programs side by side.
bool is_output_of_several(std::string_view name) {
  constexpr std::string_view first = "output-", last = ".txt";
  if (!name.starts_with(first) || !name.ends_with(last) || name.size() <= first.size() + last.size())
    return false;
  name = name.substr(first.size(), name.size() - first.size() - last.size());
  return name.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_run_directory(const fs::path& path) {
  if (fs::exists(path / kIncomplete)) return true;
  std::ifstream in(path / "run.toml");
  std::string line;
  return std::getline(in, line) && line.starts_with("# A run of rubato");
}

}  // namespace

RunDirectory::RunDirectory(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  if (fs::exists(path_, error)) {
    if (!fs::is_directory(path_))
      throw UsageError("--out {}: this is a file, not a directory", path_.string());
    if (!fs::is_empty(path_, error) && !is_run_directory(path_)) {
      throw UsageError("--out {}: this directory holds something that is no run of rubato-chip; name another",
                       path_.string());
    }
  } else if (fs::create_directories(path_, error); error) {
    throw UsageError("--out {}: cannot make this directory: {}", path_.string(), error.message());
  }
  write(kIncomplete, "This run has not ended, or was interrupted.\n");
  for (const char* name : kFiles) fs::remove(path_ / name, error);
  for (const auto& entry : fs::directory_iterator(path_, error))
    if (is_output_of_several(entry.path().filename().string())) fs::remove(entry.path(), error);
  remove_temporaries();
}

RunDirectory::~RunDirectory() { remove_temporaries(); }

void RunDirectory::remove_temporaries() const {
  std::error_code ignored;
  for (const char* name : kFiles) fs::remove(temporary(name), ignored);
}

fs::path RunDirectory::temporary(std::string_view name) const { return path_ / fmt::format(".{}.tmp", name); }

void RunDirectory::write(std::string_view name, std::string_view content) const {
  const fs::path path = temporary(name);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) cannot_write(path_ / name, errno);
  int error = 0;
  while (!content.empty() && error == 0) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n >= 0) {
      content.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error != 0) {
    ::unlink(path.c_str());
    cannot_write(path_ / name, error);
  }
  publish(name);
}

void RunDirectory::publish(std::string_view name) const {
  std::error_code error;
  fs::rename(temporary(name), path_ / name, error);
  if (error) cannot_write(path_ / name, error.value());
}

void RunDirectory::finish() {
  std::error_code error;
  fs::remove(path_ / kIncomplete, error);
  if (error) cannot_write(path_ / kIncomplete, error.value());
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes(65536, '\0');
  std::size_t size = 0;
  // Read in blocks without asking for the size: a pipe has none.
  while (in.read(bytes.data() + size, static_cast<std::streamsize>(bytes.size() - size))) {
    size = bytes.size();
    bytes.resize(2 * size);
  }
  bytes.resize(size + static_cast<std::size_t>(in.gcount()));
  if (!in.is_open() || in.bad()) throw UsageError("{}: cannot read this file", path.string());
  return bytes;
}

}  // namespace rubato::chip
