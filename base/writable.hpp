// Whether a file that is to be written when the work is done can be: found before, not behind hours of it.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

namespace rubato {

/// Whether `path` can be written: an existing file keeps its content. @returns 0, or the errno that writing
/// would end with.
inline int writing_error(const char* path) {
  struct stat info {};
  const bool was_there = stat(path, &info) == 0;
  if (was_there && S_ISFIFO(info.st_mode)) return 0;  // its reader would take this for the end
  std::FILE* const file = std::fopen(path, "a");
  if (file == nullptr) return errno;
  std::fclose(file);
  if (!was_there) std::remove(path);
  return 0;
}

}  // namespace rubato
