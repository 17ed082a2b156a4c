// The protocols by name. A new one is a row here, and a choice of coherence.protocol in config/schema.cpp.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string_view>

#include "base/check.hpp"
#include "base/error.hpp"
#include "chip/coherence/late.hpp"
#include "chip/coherence/mesi.hpp"
#include "chip/coherence/token/token_broadcast.hpp"
#include "chip/coherence/token/token_protocol.hpp"

namespace rubato::chip {

namespace {

using Protocol = std::unique_ptr<MemoryHierarchy>;

/// All that a protocol may be made of.
struct Around {
  const Config& config;
  Network& network;
  ConflictCheck& conflicts;
  Timeline* timeline;
  AccessClient* client;

  TokenTiles::Ports ports() const {
    RUBATO_CHECK(timeline != nullptr && client != nullptr,
                 "a protocol by messages needs a clock and a client");
    return {network, conflicts, *timeline, *client};
  }
};

void require_inclusive_caches(const Config& config) {
  const auto require = [&](const char* key, const std::string& value, const char* can, const char* why) {
    if (value != can)
      throw UsageError("{} is {}, but coherence.protocol is {}, {}: choose sparse, tokenb, mosaic or flask",
                       key, value, config.coherence.protocol, why);
  };
  require("l2.inclusion", config.l2.inclusion, "inclusive",
          "whose directory is in the tags of an L2 that includes its L1s");
  require("llc.interleave", config.llc.interleave, "hash", "whose slices are by a hash");
}

template <TokenPolicy policy>
Protocol by_tokens(const Around& a) {
  return std::make_unique<TokenProtocol>(a.config, policy, a.ports());
}

struct Row {
  std::string_view name;
  Protocol (*make)(const Around&);
};
constexpr Row kProtocols[] = {
    {"mesi",
     [](const Around& a) -> Protocol {
       require_inclusive_caches(a.config);
       return std::make_unique<Mesi>(a.config, a.network, a.conflicts);
     }},
    {"sparse", by_tokens<TokenPolicy::sparse>},
    {"tokenb",
     [](const Around& a) -> Protocol { return std::make_unique<TokenBroadcast>(a.config, a.ports()); }},
    {"mosaic", by_tokens<TokenPolicy::mosaic>},
    {"flask", by_tokens<TokenPolicy::flask>},
    {"late",
     [](const Around& a) -> Protocol {
       require_inclusive_caches(a.config);
       const TokenTiles::Ports p = a.ports();
       return std::make_unique<LateMesi>(a.config, p.network, p.conflicts, p.timeline, p.client);
     }},
};

}  // namespace

std::unique_ptr<MemoryHierarchy> make_memory_system(const Config& config, Network& network,
                                                    ConflictCheck& conflicts, Timeline* timeline,
                                                    AccessClient* client) {
  const std::string& name = config.coherence.protocol;
  const Row* const row = std::ranges::find(kProtocols, name, &Row::name);
  if (row != std::end(kProtocols)) return row->make({config, network, conflicts, timeline, client});
  std::string known;
  for (const Row& one : kProtocols) (known += known.empty() ? "" : ", ") += one.name;
  throw UsageError("coherence.protocol is \"{}\", expected one of: {}", name, known);
}

}  // namespace rubato::chip
