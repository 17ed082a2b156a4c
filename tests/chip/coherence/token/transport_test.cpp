// Transport without tiles or homes: when messages are delivered, and what of them is counted and shown.
// SPDX-License-Identifier: MIT
#include "chip/coherence/token/transport.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chip/stats/registry.hpp"
#include "tests/chip/coherence/rig.hpp"

namespace rubato::chip {
namespace {

using Kind = TokenMessage::Kind;
using To = TokenMessage::To;
constexpr LineAddr kLine{4096};

/// Takes as long as the next entry of `delays` says.
struct Wire final : Network {
  Cycle send(TileId, TileId, Message, Cycle now) override {
    ++messages;
    if (delays.empty()) return now + 10;
    const Latency delay = delays.back();
    delays.pop_back();
    return now + delay;
  }
  std::vector<Latency> delays;
  unsigned messages = 0;
};

/// Four tiles, two by two.
struct TransportOfMessages : testing::Test, MessageReceiver, MessageObserver {
  TransportOfMessages()
      : config(resolve(four_tiles())),
        homes(config),
        transport(config, {wire, timeline, homes, warming, *this}) {}
  static Config four_tiles() {
    Config config = tiny_caches(4, 1);
    config.net.link_bytes = 16;
    return config;
  }
  void deliver(Flight& flight) override {
    delivered.push_back(flight);
    delivered_at.push_back(timeline.now());
    if (flight.message.kind != answered) return;
    transport.send(flight, {.kind = Kind::unblock, .to = To::home}, TileId{flight.message.agent}, TileId{0});
  }
  void on_message(const SeenMessage& message) override { seen.push_back(message); }
  static TokenMessage to_agent(std::uint32_t tile, Kind kind, bool has_data = false) {
    return {.kind = kind, .to = To::agent, .has_data = has_data, .agent = static_cast<std::uint16_t>(tile)};
  }
  std::vector<Kind> kinds() const {
    std::vector<Kind> all;
    for (const Flight& flight : delivered) all.push_back(flight.message.kind);
    return all;
  }
  std::uint64_t counter(const std::string& name) const {
    StatRegistry registry;
    transport.register_stats(registry);
    for (const auto& stat : registry.stats())
      if (stat.name == name) return *stat.counter;
    ADD_FAILURE() << name << " is not registered";
    return 0;
  }
  void run() {
    while (timeline.step()) {
    }
  }

  Config config;
  Wire wire;
  Timeline timeline;
  HomeMap homes;
  Warming warming;
  Transport transport;
  Kind answered = Kind::done;  // a message of this kind makes its agent say unblock
  std::vector<Flight> delivered;
  std::vector<Cycle> delivered_at;
  std::vector<SeenMessage> seen;
};

TEST_F(TransportOfMessages, AMessageIsDeliveredWhenItArrivesAndItsWayIsAccountedTo) {
  wire.delays = {5, 30};  // the second one overtakes the first
  transport.send({.line = kLine, .at = Cycle{100}}, to_agent(3, Kind::forward_shared), TileId{0}, TileId{3});
  transport.send({.line = kLine, .at = Cycle{101}}, to_agent(1, Kind::recall), TileId{0}, TileId{1});
  EXPECT_TRUE(delivered.empty());
  run();
  EXPECT_EQ(kinds(), (std::vector{Kind::recall, Kind::forward_shared}));
  EXPECT_EQ(delivered_at, (std::vector{Cycle{106}, Cycle{130}}));
  EXPECT_EQ(delivered[1].at, Cycle{130});
  EXPECT_EQ(delivered[1].parts.network, 30U);
}

TEST_F(TransportOfMessages, FlitsCountOnEachLinkOfTheWay) {
  transport.send({.line = kLine}, to_agent(3, Kind::tokens, true), TileId{0},
                 TileId{3});  // 72 bytes, 2 links
  transport.send({.line = kLine}, to_agent(1, Kind::recall), TileId{0}, TileId{1});
  EXPECT_EQ(counter("coherence.messages.tokens"), 1U);
  EXPECT_EQ(counter("coherence.flit_hops.memory"), 10U);
  EXPECT_EQ(counter("coherence.flit_hops.coherence"), 1U);
  transport.send({.line = kLine, .is_rollback = true}, to_agent(1, Kind::get_shared), TileId{0}, TileId{1});
  EXPECT_EQ(counter("coherence.flit_hops.abort"), 1U) << "whatever the message is";
}

TEST_F(TransportOfMessages, AMessageToItsOwnTileTakesNoLinkAndNoTime) {
  transport.send({.line = kLine, .at = Cycle{100}}, to_agent(2, Kind::recall), TileId{2}, TileId{2});
  run();
  EXPECT_EQ(delivered_at, std::vector{Cycle{100}});
  EXPECT_EQ(wire.messages, 0U);
  EXPECT_EQ(counter("coherence.messages.recall"), 1U);
  EXPECT_EQ(counter("coherence.flit_hops.coherence"), 0U);
}

TEST_F(TransportOfMessages, OneMessageToManyIsCountedOnceAndDeliveredToEach) {
  const SharerGroups groups(4);
  transport.send_to_all({.line = kLine, .at = Cycle{100}}, to_agent(0, Kind::probe_shared), TileId{1},
                        {groups, groups.all(), TileId{1}});
  run();
  ASSERT_EQ(delivered.size(), 3U);
  EXPECT_EQ(delivered[0].message.agent, 0U);
  EXPECT_EQ(delivered[1].message.agent, 2U);
  EXPECT_EQ(delivered[2].message.agent, 3U);
  EXPECT_EQ(counter("coherence.messages.probe_shared"), 1U);
}

TEST_F(TransportOfMessages, WarmingDeliversAtOnceInOrderAndCountsNothing) {
  answered = Kind::forward_shared;
  {
    const Warming::Scope scope(warming);
    EXPECT_FALSE(transport.drain());
    transport.send({.line = kLine}, to_agent(3, Kind::forward_shared), TileId{0}, TileId{3});
    transport.send({.line = kLine}, to_agent(1, Kind::recall), TileId{0}, TileId{1});
    EXPECT_TRUE(delivered.empty()) << "a node is in the middle of something else";
    EXPECT_TRUE(transport.drain());
    EXPECT_FALSE(transport.drain());
  }
  EXPECT_EQ(kinds(), (std::vector{Kind::forward_shared, Kind::recall, Kind::unblock}));
  EXPECT_TRUE(timeline.empty());
  EXPECT_EQ(wire.messages, 0U);
  EXPECT_EQ(counter("coherence.messages.recall") + counter("coherence.flit_hops.coherence"), 0U);
}

TEST_F(TransportOfMessages, AnObserverSeesWhereATransactionBeginsAndEachArrival) {
  transport.observe(*this);
  answered = Kind::forward_shared;
  transport.send({.line = kLine}, to_agent(3, Kind::forward_shared), TileId{0}, TileId{3});
  run();
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_TRUE(seen[0].is_sent);
  EXPECT_EQ(seen[0].at, TileId{0});
  EXPECT_EQ(seen[0].node, SeenMessage::Node::home) << "a home takes copies back";
  EXPECT_EQ(seen[1].at, TileId{3});
  EXPECT_EQ(seen[1].node, SeenMessage::Node::tile);
  EXPECT_FALSE(seen[2].is_sent) << "an answer belongs to the same transaction";
  EXPECT_EQ(seen[2].kind, "unblock");
  EXPECT_EQ(seen[2].transaction, seen[0].transaction);
  transport.send({.line = kLine}, to_agent(3, Kind::recall), TileId{0}, TileId{3});
  EXPECT_NE(seen[3].transaction, seen[0].transaction);
}

}  // namespace
}  // namespace rubato::chip
