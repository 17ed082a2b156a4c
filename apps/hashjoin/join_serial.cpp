// SPDX-License-Identifier: MIT
#include <unordered_map>

#include "apps/hashjoin/join.hpp"

namespace rubato::apps {

JoinResult join_serial(const TpchTables& tables) {
  std::unordered_map<std::uint32_t, std::uint32_t> nation_of;
  nation_of.reserve(tables.customers.size());
  for (const Customer& c : tables.customers) nation_of.emplace(c.key, c.nation);
  JoinResult result;
  for (const Order& o : tables.orders) {
    const auto found = nation_of.find(o.customer);
    if (found != nation_of.end()) result.add(o, found->second);
  }
  return result;
}

}  // namespace rubato::apps
