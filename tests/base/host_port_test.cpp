// Addresses as users give them.
// SPDX-License-Identifier: MIT
#include "base/host_port.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rubato {
namespace {

TEST(HostPort, APortIsBehindTheOnlyColonOrBehindABracket) {
  const struct {
    const char *text, *host, *port;
  } all[] = {{"localhost", "localhost", ""},
             {"127.0.0.1:0", "127.0.0.1", "0"},
             {"*:65535", "*", "65535"},
             {":11211", "", "11211"},
             {"::1", "::1", ""},
             {"[::1]", "::1", ""},
             {"[::1]:11211", "::1", "11211"}};
  for (const auto& one : all) {
    const auto parts = host_and_port(one.text);
    ASSERT_TRUE(parts) << one.text;
    EXPECT_EQ(parts->host, one.host) << one.text;
    EXPECT_EQ(parts->port, one.port) << one.text;
  }
}

TEST(HostPort, NoPortIsCutToSixteenBits) {
  EXPECT_TRUE(is_port("65535"));
  for (const char* wrong : {"65536", "76747", "4294978507", "-1", "+1", "", "x", "1x", " 1", "1 "}) {
    EXPECT_FALSE(is_port(wrong)) << wrong;
    EXPECT_FALSE(host_and_port(std::string("host:") + wrong)) << wrong;
    EXPECT_FALSE(host_and_port(std::string("[::1]:") + wrong)) << wrong;
  }
}

TEST(HostPort, ABracketIsClosedAndFollowedByAPortAlone) {
  for (const char* wrong : {"[::1", "[", "[::1]x", "[::1]11211"}) EXPECT_FALSE(host_and_port(wrong)) << wrong;
}

}  // namespace
}  // namespace rubato
