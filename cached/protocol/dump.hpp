// The lines of `lru_crawler metadump` and `mgdump`.
// SPDX-License-Identifier: MIT
#pragma once

#include "cached/protocol/output.hpp"
#include "cached/protocol/service.hpp"

namespace rubato::cached {

void append_dump_line(Output& output, Dump kind, const ItemReport& report, const Clock& clock);

/// The key as a dump shows it: all but letters, digits and a few signs as %XX.
std::string escaped(std::string_view key);

}  // namespace rubato::cached
