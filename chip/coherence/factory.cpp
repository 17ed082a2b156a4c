// The choice of a protocol.
// SPDX-License-Identifier: MIT
#include "base/check.hpp"
#include "base/error.hpp"
#include "chip/coherence/mesi.hpp"
#include "chip/coherence/token/token_protocol.hpp"

namespace rubato::chip {

std::unique_ptr<MemoryHierarchy> make_memory_system(const Config& config, Network& network,
                                                    ConflictCheck& conflicts, Timeline* timeline,
                                                    AccessClient* client) {
  const std::string& protocol = config.coherence.protocol;
  if (protocol == "mesi") return std::make_unique<Mesi>(config, network, conflicts);
  const auto by_tokens = [&](TokenPolicy policy) {
    RUBATO_CHECK(timeline != nullptr && client != nullptr,
                 "a protocol by messages needs a clock and a client");
    return std::make_unique<TokenProtocol>(config, policy,
                                           TokenProtocol::Ports{network, conflicts, *timeline, *client});
  };
  if (protocol == "sparse") return by_tokens(TokenPolicy::sparse);
  if (protocol == "mosaic") return by_tokens(TokenPolicy::mosaic);
  if (protocol == "flask") return by_tokens(TokenPolicy::flask);
  throw UsageError("coherence.protocol is \"{}\", expected one of: mesi, sparse, mosaic, flask", protocol);
}

}  // namespace rubato::chip
