// The choice of a protocol.
// SPDX-License-Identifier: MIT
#include "base/check.hpp"
#include "base/error.hpp"
#include "chip/coherence/late.hpp"
#include "chip/coherence/mesi.hpp"
#include "chip/coherence/token/token_broadcast.hpp"
#include "chip/coherence/token/token_protocol.hpp"

namespace rubato::chip {

std::unique_ptr<MemoryHierarchy> make_memory_system(const Config& config, Network& network,
                                                    ConflictCheck& conflicts, Timeline* timeline,
                                                    AccessClient* client) {
  const std::string& protocol = config.coherence.protocol;
  if (protocol == "mesi" || protocol == "late") {
    const auto require = [&](const char* key, const std::string& value, const char* can, const char* why) {
      if (value != can)
        throw UsageError("{} is {}, but coherence.protocol is {}, {}: choose sparse, tokenb, mosaic or flask",
                         key, value, protocol, why);
    };
    require("l2.inclusion", config.l2.inclusion, "inclusive",
            "whose directory is in the tags of an L2 that includes its L1s");
    require("llc.interleave", config.llc.interleave, "hash", "whose slices are by a hash");
  }
  if (protocol == "mesi") return std::make_unique<Mesi>(config, network, conflicts);
  const auto ports = [&] {
    RUBATO_CHECK(timeline != nullptr && client != nullptr,
                 "a protocol by messages needs a clock and a client");
    return TokenTiles::Ports{network, conflicts, *timeline, *client};
  };
  if (protocol == "tokenb") return std::make_unique<TokenBroadcast>(config, ports());
  if (protocol == "late") {
    const auto p = ports();
    return std::make_unique<LateMesi>(config, p.network, p.conflicts, p.timeline, p.client);
  }
  const auto by_tokens = [&](TokenPolicy policy) {
    return std::make_unique<TokenProtocol>(config, policy, ports());
  };
  if (protocol == "sparse") return by_tokens(TokenPolicy::sparse);
  if (protocol == "mosaic") return by_tokens(TokenPolicy::mosaic);
  if (protocol == "flask") return by_tokens(TokenPolicy::flask);
  throw UsageError("coherence.protocol is \"{}\", expected one of: mesi, sparse, tokenb, mosaic, flask, late",
                   protocol);
}

}  // namespace rubato::chip
