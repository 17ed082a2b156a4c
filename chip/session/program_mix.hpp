// Programs to run side by side (--programs; K80): a TOML file with one table [[program]] an entry.
//
//   path        of the program; like all paths here, from the current folder
//   cores       "1-15" or "3": whole tiles, shared equally among the copies
//   copies      1 or more (1); stdin  a file (nothing to read); roi  as run.roi (run.roi)
//   arguments   a list of strings (none)
//
// A run.toml of such a run is one, too.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chip/config/config.hpp"

namespace rubato::chip {

/// A copy of an entry, with cores of its own.
struct MixedProgram {
  std::string path;
  std::vector<std::string> arguments;
  std::string stdin_file;  ///< empty: nothing to read
  std::string roi;
  std::uint32_t first_core = 0, cores = 1;
};

/// @param config resolved. @throws UsageError "FILE:LINE: ...", one sentence.
std::vector<MixedProgram> load_mix(const Config& config, const std::string& file);
/// The same from text; `name` stands for the file in errors.
std::vector<MixedProgram> load_mix_text(const Config& config, std::string_view text, const std::string& name);

}  // namespace rubato::chip
