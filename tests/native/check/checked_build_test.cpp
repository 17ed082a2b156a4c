// R12: in the checked build a wrong annotation is reported with both places, and a right one never. This
// test is compiled with RUBATO_CHECKED; everything that is true of programs in general is in
// tests/conformance.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "native/check/site.hpp"
#include "rubato/rubato.hpp"

namespace {

using rubato::create;
using rubato::make_resource;
using rubato::nonspec;
using rubato::resource;
using rubato::TaskError;
using rubato::tracked;
using testing::HasSubstr;

struct Account {
  tracked<std::uint64_t> balance = 0;
  std::array<tracked<std::uint32_t>, 100> history;
};
constexpr rubato::ResourceOptions kShared{.isolation = rubato::Isolation::shared_reads};

/// Message of the error that run() throws, or "".
std::string failure_of_run() {
  try {
    rubato::run();
  } catch (const TaskError& error) {
    return error.what();
  }
  return "";
}
std::string at_line(int line) { return "checked_build_test.cpp:" + std::to_string(line) + " ("; }

constexpr int kWriteLine = __LINE__ + 1;
void deposit(resource<Account> account) { account->balance += 1; }

TEST(CheckedBuild, ReportsAWriteOfAReaderWithBothPlaces) {
  const auto account = make_resource<Account>(kShared);
  constexpr int kCreateLine = __LINE__ + 1;
  create<nonspec>(deposit, {.on = account, .access = rubato::reads}, account);
  const std::string failure = failure_of_run();
  EXPECT_THAT(failure, HasSubstr("deposit"));
  EXPECT_THAT(
      failure,
      HasSubstr("without a timestamp writes the resource that it is annotated to read: it writes at " +
                at_line(kWriteLine)));
  EXPECT_THAT(failure, HasSubstr("and was created at " + at_line(kCreateLine)));
  EXPECT_EQ(account->balance, 0u) << "the write did not happen";
  create<nonspec>(deposit, {.on = account}, account);
  EXPECT_EQ(failure_of_run(), "") << "the next run works";
  EXPECT_EQ(account->balance, 1u);
  rubato::remove(account);
}

constexpr int kReadLine = __LINE__ + 2;
void copy(resource<Account> from, resource<Account> to) {
  const std::uint64_t balance = from->balance;
  to->balance = balance;
}

TEST(CheckedBuild, ReportsAReadOfAnotherResourceWithBothPlaces) {
  const auto from = make_resource<Account>(kShared);
  const auto to = make_resource<Account>(kShared);
  constexpr int kCreateLine = __LINE__ + 1;
  create<nonspec>(copy, {.on = to}, from, to);
  const std::string failure = failure_of_run();
  EXPECT_THAT(failure,
              HasSubstr("touches another resource than the one that it is annotated with: it reads at " +
                        at_line(kReadLine)));
  EXPECT_THAT(failure, HasSubstr("and was created at " + at_line(kCreateLine)));
  rubato::remove(from);
  rubato::remove(to);
}

TEST(CheckedBuild, ReportsAWriteToAnotherResourceUpToItsLastByte) {
  const auto mine = make_resource<Account>({});
  const auto other = make_resource<Account>({});
  create<nonspec>([mine, other] { other->history[99] = 1; }, {.on = mine});
  EXPECT_THAT(failure_of_run(), HasSubstr("it writes at"));
  rubato::remove(mine);
  rubato::remove(other);
}

TEST(CheckedBuild, SeesAccessesOfTasksCreatedByTasks) {
  const auto account = make_resource<Account>(kShared);
  create<nonspec>([account] { create<nonspec>(deposit, {.on = account, .access = rubato::reads}, account); },
                  {});
  EXPECT_THAT(failure_of_run(), HasSubstr("it writes at " + at_line(kWriteLine)));
  rubato::remove(account);
}

tracked<std::uint64_t> global_count;

TEST(CheckedBuild, IsSilentAboutWhatIsAllowed) {
  const auto mine = make_resource<Account>(kShared);
  const auto other = make_resource<Account>(kShared);
  // The whole declared object, and tracked data that belongs to no resource.
  create<nonspec>(
      [mine] {
        for (auto& entry : mine->history) entry = entry + 1;
        mine->balance = 1;
        ++global_count;
      },
      {.on = mine});
  // A reader that reads.
  create<nonspec>([mine] { global_count += mine->balance + mine->history[99]; },
                  {.on = mine, .access = rubato::reads});
  // A resource that the task itself made.
  create<nonspec>(
      [mine] {
        const auto fresh = make_resource<Account>(kShared);
        fresh->balance = mine->balance;
        rubato::remove(fresh);
      },
      {.on = mine});
  // Tasks that are kept apart otherwise: alone, or by what the checks cannot know.
  create<rubato::spec>([mine, other] { other->balance = mine->balance.get(); }, {.on = mine});
  create<nonspec>([other] { ++other->balance; }, {});
  create<nonspec>([other] { ++other->balance; }, {.on = 7u});
  EXPECT_EQ(failure_of_run(), "");
  // Outside tasks everything is allowed.
  mine->balance = other->balance.get();
  rubato::remove(mine);
  rubato::remove(other);
}

TEST(CheckedBuild, ForgetsWhatIsGone) {
  for (int i = 0; i < 100; ++i) {
    const auto mine = make_resource<Account>({});
    auto gone = make_resource<Account>({});
    rubato::remove(gone);  // outside run(): at once
    // The memory of `gone` may be in use again; most likely by this plain object.
    auto plain = std::make_unique<std::array<Account, 2>>();
    create<nonspec>([&plain] { (*plain)[0].balance = (*plain)[1].balance = 3; }, {.on = mine});
    EXPECT_EQ(failure_of_run(), "");
    rubato::remove(mine);
  }
}

TEST(Site, IsThePlaceOfTheCaller) {
  const int line = __LINE__ + 1;
  const std::string site = rubato::native::site_of(rubato::native::call_stack());
  EXPECT_THAT(site, HasSubstr(at_line(line)));
}

}  // namespace
