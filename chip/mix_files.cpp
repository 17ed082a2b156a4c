// SPDX-License-Identifier: MIT
#include "chip/mix_files.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace rubato::chip {

MixFiles::MixFiles(const std::vector<MixedProgram>& programs) {
  for (const MixedProgram& program : programs) {
    const char* const file = program.stdin_file.empty() ? "/dev/null" : program.stdin_file.c_str();
    inputs_.emplace_back(::open(file, O_RDONLY | O_CLOEXEC));
    if (inputs_.back().get() < 0)
      throw UsageError("{}: cannot read this standard input of {}: {}", file, program.path,
                       std::strerror(errno));
    if (inputs_.size() == 1) continue;
    outputs_.emplace_back(std::tmpfile());
    if (outputs_.back() == nullptr)
      throw UsageError("no file for what {} prints: {}", program.path, std::strerror(errno));
  }
}

}  // namespace rubato::chip
