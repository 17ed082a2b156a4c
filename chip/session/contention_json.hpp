// `contention` of stats.json: the lines that cores took from one another, those that cost most first, with
// the blocks of the heap that they are parts of and the places that have allocated these.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "chip/core/line_blocks.hpp"
#include "chip/core/line_contention.hpp"

namespace rubato::chip {

/// @param blocks null: not known
nlohmann::json contention_json(const LineContention& contention, const LineBlocks* blocks,
                               const std::function<std::string(Addr)>& symbol);

}  // namespace rubato::chip
