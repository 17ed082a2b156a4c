// Standard input and output of programs that run side by side: a file each to read, or nothing, and of all
// but the first, whose output is the command's, a file that has no name yet.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <memory>
#include <vector>

#include "base/owned_fd.hpp"
#include "chip/session/program_mix.hpp"

namespace rubato::chip {

class MixFiles {
 public:
  /// @throws UsageError if a file cannot be read, or the host has no room for one.
  explicit MixFiles(const std::vector<MixedProgram>& programs);

  int input(std::size_t program) const { return inputs_[program].get(); }
  int output(std::size_t program) const { return program == 0 ? 1 : ::fileno(outputs_[program - 1].get()); }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::vector<OwnedFd> inputs_;
  std::vector<std::unique_ptr<std::FILE, Close>> outputs_;  // of the second and so on
};

}  // namespace rubato::chip
