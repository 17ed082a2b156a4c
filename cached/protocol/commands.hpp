// The text commands by name. A new one is a row of the table in commands.cpp, and a function of one of the
// classes of handlers.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace rubato::cached {

class Session;
struct Words;

/// Runs the command that the first word names. False if there is none.
/// @param line  the text that `words` were split from
bool run_command(Session& session, const Words& words, std::string_view line);

}  // namespace rubato::cached
