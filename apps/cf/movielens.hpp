// Ratings in the files of MovieLens (GroupLens): ratings.dat of 1M and 10M, u.data of 100K, ratings.csv of
// later ones, plain or gzip.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "apps/cf/ratings.hpp"

namespace rubato::apps {

/// Users and items are numbered in the order of their numbers in the file; a rating is relative to the
/// largest.
/// @throws InputError at the first line that is malformed
RatingSet read_movielens(const std::string& path);

}  // namespace rubato::apps
