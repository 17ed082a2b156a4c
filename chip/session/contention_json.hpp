// `contention` of stats.json: the lines that cores took from one another, those that cost most first.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "chip/core/line_contention.hpp"

namespace rubato::chip {

nlohmann::json contention_json(const LineContention& contention,
                               const std::function<std::string(Addr)>& symbol);

}  // namespace rubato::chip
