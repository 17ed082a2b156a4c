// K-means clustering as ordered tasks (Espresso, Sec. VI-B and Table III; the program is that of STAMP, Cao
// Minh et al., IISWC 2008). Timestamps separate the steps of an iteration, locales keep the additions to one
// centre apart, so tasks of any type are synchronized. Tasks allocate nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "apps/kmeans/points.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps::kmeans {

/// Computed by tasks of one type. Equals serial_kmeans().
Clustering kmeans_by_tasks(const Points& points, const Search& search, TaskType type);

}  // namespace rubato::apps::kmeans
