// The three formats of MovieLens, and what is wrong with malformed files: file, line and sentence.
// SPDX-License-Identifier: MIT
#include "apps/cf/movielens.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/cf/cf_tasks.hpp"
#include "apps/cf/serial_cf.hpp"
#include "apps/common/input_error.hpp"
#include "tests/temporary_folder.hpp"

namespace rubato::apps {
namespace {

using ::testing::ElementsAre;

class MovieLens : public ::testing::Test {
 protected:
  RatingSet read(const std::string& text) { return read_movielens(folder_.write("ratings", text)); }
  /// The sentence without the folder.
  std::string error_of(const std::string& text) {
    try {
      read(text);
    } catch (const InputError& e) {
      return std::string(e.what()).substr(folder_.path().string().size() + 1);
    }
    return "accepted";
  }

  const TemporaryFolder folder_;
};

TEST_F(MovieLens, ReadsAllFormatsAlike) {
  for (const char* const text :
       {"7::1193::5::978300760\n2::30::4::978302109\n7::30::2::9\n",
        "7\t1193\t5\t978300760\n2\t30\t4\t978302109\n7\t30\t2\t9\n",
        "userId,movieId,rating,timestamp\r\n7,1193,5.0,978300760\r\n2,30,4.0,1\r\n7,30,2,9\r\n"}) {
    const RatingSet set = read(text);
    EXPECT_THAT(set.user_ids, ElementsAre(2, 7));
    EXPECT_THAT(set.item_ids, ElementsAre(30, 1193));
    ASSERT_EQ(set.ratings.size(), 3u);
    EXPECT_EQ(set.ratings[0].user, 1u);
    EXPECT_EQ(set.ratings[0].item, 3u);  // behind two users
    EXPECT_EQ(set.ratings[0].value, kOne);
    EXPECT_EQ(set.ratings[1].user, 0u);
    EXPECT_EQ(set.ratings[1].item, 2u);
    EXPECT_EQ(set.ratings[1].value, 52'429);  // 4/5
    EXPECT_EQ(set.ratings[2].value, 26'214);  // 2/5
  }
}

TEST_F(MovieLens, TasksAgreeWithTheSerialAlgorithmWhenItemsOutnumberUsers) {
  const RatingSet set = read("1::1::5::0\n1::2::3::0\n1::3::1::0\n2::3::4::0\n");
  EXPECT_EQ(set.participants(), 5u);
  const auto first = first_features(set.participants(), 1);
  for (const TaskType type : {spec, nonspec, mayspec})
    EXPECT_EQ(cf(set, first, 5, type), serial_cf(set.ratings, first, 5));
}

TEST_F(MovieLens, MalformedLinesAreNamed) {
  EXPECT_EQ(error_of(""),
            "ratings:1: the file has no ratings: lines 'USER::ITEM::RATING::TIME' were expected");
  EXPECT_EQ(error_of("1::2::3::4\n1::2::3\n"), "ratings:2: the time is missing");
  EXPECT_EQ(error_of("1::2::0::4\n"), "ratings:1: the rating is 0: one above 0 was expected");
  EXPECT_EQ(error_of("1::2::-1::4\n"), "ratings:1: negative rating '-1'");
  EXPECT_EQ(error_of("1::2::3::4::5\n"),
            "ratings:1: '5' follows where the line should end: 'USER::ITEM::RATING::TIME' was expected");
  EXPECT_EQ(error_of("1::2::3::4\n1,2,3,4\n"),
            "ratings:2: '1,2,3,4' is not a user: a whole number was expected");
  EXPECT_EQ(error_of("1,x,3,4\n"), "ratings:1: 'x' is not a movie: a whole number was expected");
}

}  // namespace
}  // namespace rubato::apps
