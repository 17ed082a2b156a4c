// SPDX-License-Identifier: MIT
#include "tm/algorithm/records.hpp"

#include <cstdlib>

namespace rubato::tm {

constinit Records records;
constinit Clock clock_of_commits;

bool Records::make() {
  if (table_ == nullptr) table_ = static_cast<Record*>(std::calloc(std::size_t{1} << kBits, sizeof(Record)));
  return table_ != nullptr;
}

}  // namespace rubato::tm
