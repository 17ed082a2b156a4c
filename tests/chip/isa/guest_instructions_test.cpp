// The public headers carry their own copy of the task instructions' encodings, so that include/rubato stands
// alone: here both meet.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "chip/isa/task_instructions.hpp"
#include "include/rubato/engine/chip_instructions.hpp"
#include "include/rubato/task_type.hpp"

namespace {

namespace chip = rubato::chip::isa;
namespace guest = rubato::engine::instruction;

template <class Enum>
constexpr std::uint32_t value(Enum e) {
  return static_cast<std::uint32_t>(e);
}

static_assert(guest::kOpcode == chip::kCustom0);
static_assert(guest::kCreate == value(chip::TaskOp::create));
static_assert(guest::kFinish == value(chip::TaskOp::finish));
static_assert(guest::kPromote == value(chip::TaskOp::promote));
static_assert(guest::kRead == value(chip::TaskOp::read));
static_assert(guest::kRegion == value(chip::TaskOp::region));
static_assert(guest::kHasTimestamp == chip::CreateFlags::kHasTimestamp);
static_assert(guest::kHasLocale == chip::CreateFlags::kHasLocale);
static_assert(guest::kArgumentsShift == chip::CreateFlags::kArgumentsShift);
static_assert(guest::kReads == chip::CreateFlags::kReads);
static_assert(guest::kNamed == chip::CreateFlags::kNamed);
static_assert(guest::kAgain == chip::CreateFlags::kAgain);
static_assert(guest::kHasPlace == chip::CreateFlags::kHasPlace);
static_assert(guest::kWaits == chip::FinishFlags::kWaits);
static_assert(guest::kTimestamp == value(chip::ReadSelector::timestamp));
static_assert(guest::kIsTimestamped == value(chip::ReadSelector::is_timestamped));
static_assert(guest::kIsTask == value(chip::ReadSelector::is_task));
static_assert(guest::kIsSpeculative == value(chip::ReadSelector::is_speculative));
static_assert(guest::kCore == value(chip::ReadSelector::core));
static_assert(guest::kTile == value(chip::ReadSelector::tile));
static_assert(guest::kCores == value(chip::ReadSelector::cores));
static_assert(guest::kWorkers == value(chip::ReadSelector::workers));
static_assert(guest::kFunction == value(chip::ReadSelector::function));
static_assert(guest::kEnter == value(chip::RegionOp::enter));
static_assert(guest::kWorker == value(chip::RegionOp::worker));
static_assert(rubato::engine::kMaxArguments == chip::kMaxArguments);
static_assert(value(rubato::TaskType::spec) == 0 && value(rubato::TaskType::nonspec) == 1 &&
              value(rubato::TaskType::mayspec) == 2);

TEST(GuestInstructions, AgreeWithTheSimulators) { SUCCEED() << "checked at compile time"; }

}  // namespace
