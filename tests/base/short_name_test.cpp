// Short names of functions: what is left of template arguments, parameters and namespaces, and told apart.
// SPDX-License-Identifier: MIT
#include "base/short_name.hpp"

#include <gtest/gtest.h>

namespace {

using rubato::short_name;
using rubato::ShortNames;

TEST(ShortName, IsTheFunctionsWithoutWhereAndWhatOf) {
  EXPECT_EQ(short_name("visit"), "visit");
  EXPECT_EQ(short_name("visit(Vertex*)"), "visit");
  EXPECT_EQ(short_name("void rubato::apps::(anonymous namespace)::visit<(rubato::v0::TaskType)2>(Vertex*)"),
            "visit");
  EXPECT_EQ(short_name("bank::deposit(rubato::v0::resource<bank::Account>)"), "deposit");
  EXPECT_EQ(short_name("Grid::step(int) const"), "step");
  EXPECT_EQ(short_name("void rubato::v0::engine::split_range<int, visit(int)>(int, int)"), "visit");
}

TEST(ShortName, OfALambdaIsThatOfItsFunction) {
  EXPECT_EQ(short_name("visit(Vertex*)::{lambda(int)#1}"), "lambda of visit");
  EXPECT_EQ(short_name("{lambda()#1}"), "{lambda()#1}") << "of no function";
}

TEST(ShortName, LeavesWhatIsNoName) {
  EXPECT_EQ(short_name("function at 0x1234"), "function at 0x1234");
  EXPECT_EQ(short_name(""), "");
  EXPECT_EQ(short_name("(no task)"), "(no task)");
}

TEST(ShortNames, TellFunctionsApart) {
  ShortNames names;
  EXPECT_EQ(names.of("a::visit(int)"), "visit");
  EXPECT_EQ(names.of("b::visit(int)"), "visit (2)");
  EXPECT_EQ(names.of("a::visit(int)"), "visit") << "always the same";
  EXPECT_EQ(names.all().size(), 2u);
}

}  // namespace
