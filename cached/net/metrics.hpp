// The page of metrics in Prometheus' text format, which `-o metrics=ADDRESS` serves over HTTP.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "cached/protocol/service.hpp"

namespace rubato::cached {

/// Numbers of the general statistics, a line each, as `rubato_cached_<name> <value>`.
std::string metrics_page(Service& service);

/// Answers one HTTP request on a socket that was just accepted, and closes it.
void answer_metrics(int descriptor, Service& service);

}  // namespace rubato::cached
