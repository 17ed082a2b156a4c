// The serial reference of kmeans.
// SPDX-License-Identifier: MIT
#pragma once

#include "apps/kmeans/points.hpp"

namespace rubato::apps::kmeans {

Clustering serial_kmeans(const Points& points, const Search& search);

}  // namespace rubato::apps::kmeans
