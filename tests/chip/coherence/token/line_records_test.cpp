// SPDX-License-Identifier: MIT
#include "chip/coherence/token/line_records.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "base/rng.hpp"

namespace rubato::chip {
namespace {

struct Note {
  std::uint64_t value = 7;
};

TEST(LineRecords, HasWhatAMapHas) {
  // Few lines: entries are erased in the middle of others' searches, also where those wrap around.
  for (const std::uint64_t lines : {20, 90, 3000}) {
    LineRecords<Note> records;
    std::map<std::uint64_t, std::uint64_t> expected;
    Rng rng(lines);
    for (std::uint64_t i = 0; i < 60'000; ++i) {
      const LineAddr line{rng.below(lines) << 20 | rng.below(2)};
      if (rng.below(2) == 0) {
        Note& note = records.get(line);
        ASSERT_EQ(note.value, expected.contains(line.value) ? expected[line.value] : 7) << "a new one is new";
        note.value = expected[line.value] = i;
      } else {
        records.erase(line);
        expected.erase(line.value);
      }
      const LineAddr other{rng.below(lines) << 20 | rng.below(2)};
      const Note* const found = records.find(other);
      ASSERT_EQ(found != nullptr, expected.contains(other.value));
      if (found != nullptr) {
        ASSERT_EQ(found->value, expected[other.value]);
      }
    }
    ASSERT_EQ(records.size(), expected.size());
    std::map<std::uint64_t, std::uint64_t> walked;
    records.for_each([&](LineAddr line, const Note& note) { walked[line.value] = note.value; });
    EXPECT_EQ(walked, expected);
  }
}

TEST(LineRecords, LeavesARecordWhereItIs) {
  LineRecords<Note> records;
  Note* const first = &records.get(LineAddr{1});
  for (std::uint64_t line = 2; line < 2000; ++line) records.get(LineAddr{line});
  for (std::uint64_t line = 2; line < 2000; line += 2) records.erase(LineAddr{line});
  EXPECT_EQ(records.find(LineAddr{1}), first);
}

TEST(LineRecords, UsesThePlacesOfErasedRecordsAgain) {
  LineRecords<Note> records;
  std::set<Note*> places;
  for (std::uint64_t round = 0; round < 50; ++round) {
    for (std::uint64_t line = 0; line < 100; ++line)
      places.insert(&records.get(LineAddr{round * 1000 + line}));
    for (std::uint64_t line = 0; line < 100; ++line) records.erase(LineAddr{round * 1000 + line});
  }
  EXPECT_EQ(places.size(), 100U);
}

}  // namespace
}  // namespace rubato::chip
