// Whether the loader took the library that LD_PRELOAD names: what it cannot find it only warns of, and the
// tests would pass on GCC's.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

extern "C" const char* _ITM_libraryVersion() __attribute__((transaction_pure));

namespace {

TEST(Preload, NamesTheLibraryOnWhichTheseTestsRun) {
  const char* const named = std::getenv("LD_PRELOAD");
  const bool names_one = named != nullptr && std::string_view{named}.find("itm.so") != std::string_view::npos;
  const bool is_ours = std::string_view{_ITM_libraryVersion()}.find("rubato") != std::string_view::npos;
  EXPECT_EQ(is_ours, names_one) << "LD_PRELOAD=" << (named != nullptr ? named : "");
}

}  // namespace
