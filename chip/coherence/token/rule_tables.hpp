// Tables in Markdown of the token protocols' rules in each state, for docs/coherence.md. The rules themselves
// are asked, so the tables always agree with them.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace rubato::chip {

std::string coherence_rule_tables();

}  // namespace rubato::chip
