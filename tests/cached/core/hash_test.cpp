// SPDX-License-Identifier: MIT
#include "cached/core/hash.hpp"

#include <gtest/gtest.h>

namespace rubato::cached {
namespace {

// Published test vectors of MurmurHash3_x86_32 with seed 0, one for each length of the rest.
TEST(Hash, Murmur3AgreesWithItsPublishedVectors) {
  EXPECT_EQ(hash_murmur3(""), 0u);
  EXPECT_EQ(hash_murmur3("test"), 0xba6bd213u);
  EXPECT_EQ(hash_murmur3("Hello, world!"), 0xc0363e43u);
  EXPECT_EQ(hash_murmur3("The quick brown fox jumps over the lazy dog"), 0x2e4ff723u);
}

TEST(Hash, JenkinsOneAtATimeAgreesWithItsPublishedVectors) {
  EXPECT_EQ(hash_jenkins("a"), 0xca2e9442u);
  EXPECT_EQ(hash_jenkins("The quick brown fox jumps over the lazy dog"), 0x519e91f5u);
}

TEST(Hash, IsFoundByItsName) {
  EXPECT_EQ(hash_named("xxh3"), &hash_xxh3);
  EXPECT_EQ(hash_named("md5"), nullptr);
}

}  // namespace
}  // namespace rubato::cached
