// What the rules of the token protocols do in each state, as tables in Markdown for docs/coherence.md: made
// by asking the rules themselves, so that they cannot say anything else.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace rubato::chip {

std::string coherence_rule_tables();

}  // namespace rubato::chip
