// Items from one cache to the next by a file, with every discipline, and files that are damaged or not ours.
// SPDX-License-Identifier: MIT
#include "cached/memory_file/memory_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cached/discipline/disciplines.hpp"
#include "cached/memory_file/item_stream.hpp"
#include "tests/temporary_folder.hpp"

namespace rubato::cached {
namespace {

using testing::HasSubstr;

Key named(const std::string& name) { return {name, hash_murmur3(name)}; }

std::string content(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void overwrite(const std::string& name, const std::string& text) {
  std::ofstream(name, std::ios::binary | std::ios::trunc) << text;
}
/// The sentence of an error of a start; empty: there is none.
std::string refusal(const std::string& name) try {
  MemoryFile file(name);
  return {};
} catch (const Error& error) {
  EXPECT_EQ(static_cast<int>(error.code()), 71);
  return error.what();
}

struct Value {
  std::string data;
  std::uint32_t flags = 0, expiry = 0;  ///< the expiry in seconds from the test's start
  std::uint64_t cas = 0;                ///< 0: the next
};

/// A cache, its clock, and what a client does with it.
class Client {
 public:
  Client(const Discipline& discipline, const EngineOptions& options)
      : clock_(std::make_unique<Clock>()), engine_(discipline.make(options, *clock_)) {}
  ~Client() { stop(); }

  void start() {
    is_started_ = true;
    engine_->start();
  }
  void stop() {
    if (is_started_) engine_->stop();
    is_started_ = false;
  }
  CacheEngine& engine() { return *engine_; }
  Clock& clock() { return *clock_; }

  bool put(const std::string& name, const Value& value) {
    const std::uint32_t expiry = value.expiry ? clock_->now() + value.expiry : 0;
    Item* item =
        engine_->allocate(named(name), value.flags, expiry, static_cast<std::uint32_t>(value.data.size()));
    if (!item) return false;
    Cursor(*item).write((value.data + "\r\n").data(), value.data.size() + 2);
    const StoreRequest request{.new_cas = value.cas};
    return engine_->store(counters_, item, named(name).hash, request).stored == Stored::stored;
  }
  Found look(const std::string& name, std::string* value = nullptr) {
    std::string room(2048, ' ');
    Found found = engine_->get(counters_, named(name), {.bump = false}, room.data(), room.size());
    std::string data = room.substr(0, found.length);
    if (found.pinned) {
      data.clear();
      for_each_piece(*found.pinned, [&](const char* piece, std::size_t n) { data.append(piece, n); });
      EXPECT_EQ(data.substr(found.length), "\r\n");
      data.resize(found.length);
      engine_->release(found.pinned);
    }
    if (value) *value = found.hit ? data : "none";
    return found;
  }
  std::string get(const std::string& name) {
    std::string value;
    look(name, &value);
    return value;
  }
  void fetch(const std::string& name) {
    char room[64];
    engine_->get(counters_, named(name), {}, room, sizeof room);
  }
  std::vector<std::string> keys_of(unsigned id) {
    std::vector<std::string> keys;
    engine_->list_items(id, 0, [&](const ItemReport& report) { keys.emplace_back(report.key); });
    return keys;
  }
  ThreadCounters& counters() { return counters_; }

 private:
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<CacheEngine> engine_;
  ThreadCounters counters_;
  bool is_started_ = false;
};

class Handover : public testing::TestWithParam<Discipline> {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__  // T96: it does not see how transactions order accesses
    if (GetParam().name.starts_with("tm")) GTEST_SKIP() << "transactional units are built without sanitizers";
#endif
  }
  std::unique_ptr<Client> begin(const EngineOptions& options = {}) {
    auto client = std::make_unique<Client>(GetParam(), options);
    client->start();
    return client;
  }
  /// Ends the cache gracefully.
  void stop(std::unique_ptr<Client> client) {
    client->stop();
    MemoryFile file(name());
    file.forget();
    file.save(client->engine(), client->clock());
  }
  /// As if the cache had been down for so long.
  void wait(std::int64_t seconds) {
    Meta meta;
    ASSERT_EQ(read_meta(content(meta_name()), meta), MetaKind::whole);
    meta.stopped -= seconds;
    overwrite(meta_name(), meta_text(meta));
  }
  std::unique_ptr<Client> begin_again(const EngineOptions& options = {}) {
    auto client = std::make_unique<Client>(GetParam(), options);
    MemoryFile file(name());
    back_ = file.take_back(client->engine(), client->clock(), hash_murmur3);
    file.forget();
    client->start();
    return client;
  }
  std::string name() const { return folder_ / "items"; }
  std::string meta_name() const { return folder_ / "items.meta"; }

  TemporaryFolder folder_;
  std::uint64_t back_ = 0;
};

TEST_P(Handover, ItemsComeBackAsTheyWere) {
  EngineOptions options;
  options.item_size_max = 2 << 20;
  std::map<std::string, Value> values{
      {"empty", {""}}, {"flags", {"x", 0xfedcba98}}, {"unique", {"y", 1, 0, 7777}}};
  for (const std::size_t size : {1, 100, 2046, 50'000, 524'000, 700'000, 2'000'000})
    values["v" + std::to_string(size)] = {std::string(size, static_cast<char>('a' + size % 26)), 5};
  values[std::string(250, 'k')] = {"the longest key"};
  values[std::string("a\0 \n", 4)] = {"a binary key"};
  auto before = begin(options);
  std::map<std::string, Found> found;
  for (const auto& [key, value] : values) {
    ASSERT_TRUE(before->put(key, value)) << key;
    found[key] = before->look(key);
  }
  stop(std::move(before));
  auto after = begin_again(options);
  EXPECT_EQ(back_, values.size());
  EXPECT_EQ(after->engine().items(), values.size());
  for (const auto& [key, value] : values) {
    std::string data;
    const Found now = after->look(key, &data);
    EXPECT_EQ(data, value.data) << key;
    EXPECT_EQ(now.flags, value.flags) << key;
    EXPECT_EQ(now.cas, found[key].cas) << key;
    EXPECT_EQ(now.size, found[key].size) << key;
    EXPECT_EQ(now.lru, found[key].lru) << key;
  }
}

TEST_P(Handover, MarksOfAnItemComeBack) {
  auto before = begin();
  ASSERT_TRUE(before->put("fetched", {"1"}) && before->put("stale", {"2"}) && before->put("neither", {"3"}));
  before->fetch("fetched");
  before->engine().remove(before->counters(), named("stale"), {.mark_stale = true});
  stop(std::move(before));
  auto after = begin_again();
  EXPECT_TRUE(after->look("fetched").fetched);
  EXPECT_FALSE(after->look("neither").fetched);
  EXPECT_TRUE(after->look("stale").stale);
  EXPECT_FALSE(after->look("neither").stale);
  Lookup mg{.with_value = false, .decides = true};
  EXPECT_TRUE(after->engine().get(after->counters(), named("stale"), mg, nullptr, 0).won);
  stop(std::move(after));
  after = begin_again();  // the winner of the right to fetch it anew is known there, too
  const Found second = after->engine().get(after->counters(), named("stale"), mg, nullptr, 0);
  EXPECT_TRUE(second.token_sent);
  EXPECT_FALSE(second.won);
}

TEST_P(Handover, ListsKeepTheirOrder) {
  auto before = begin();
  for (int n = 0; n < 300; ++n) ASSERT_TRUE(before->put(std::to_string(n), {"0123456789"}));
  for (int n = 0; n < 300; n += 3) before->fetch(std::to_string(n)), before->fetch(std::to_string(n));
  before->engine().juggle(1);
  std::map<unsigned, std::vector<std::string>> keys;
  for (const unsigned segment : {kHot, kWarm, kCold}) keys[segment] = before->keys_of(1 | segment);
  ASSERT_FALSE(keys[kHot].empty());
  ASSERT_FALSE(keys[kCold].empty());
  stop(std::move(before));
  auto after = begin_again();
  for (const unsigned segment : {kHot, kWarm, kCold}) EXPECT_EQ(after->keys_of(1 | segment), keys[segment]);
}

TEST_P(Handover, TimeGoesOnWhileTheCacheIsDown) {
  auto before = begin();
  const std::uint32_t uptime = before->clock().uptime();
  ASSERT_TRUE(before->put("short", {"1", 0, 50}) && before->put("long", {"2", 0, 5000}) &&
              before->put("always", {"3"}));
  stop(std::move(before));
  wait(100);
  auto after = begin_again();
  EXPECT_EQ(after->get("short"), "none");
  EXPECT_EQ(after->get("always"), "3");
  EXPECT_EQ(back_, 2u);
  const std::uint32_t left = after->look("long").expiry - after->clock().now();
  EXPECT_LE(left, 4900u);
  EXPECT_GT(left, 4000u);
  EXPECT_GE(after->clock().uptime(), uptime + 100);
}

TEST_P(Handover, AClockThatRanBackwardsIsNotTrusted) {
  auto before = begin();
  ASSERT_TRUE(before->put("a", {"1"}));
  stop(std::move(before));
  wait(-100);
  auto after = begin_again();
  EXPECT_EQ(after->get("a"), "none");
  EXPECT_LT(after->clock().uptime(), 50u);
}

TEST_P(Handover, UniquesGoOn) {
  auto before = begin();
  for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(before->put(key, {"1"}));
  std::uint64_t highest = 0;
  for (const char* key : {"a", "b", "c"}) highest = std::max(highest, before->look(key).cas);
  stop(std::move(before));
  auto after = begin_again();
  for (int n = 0; n < 100; ++n) {
    ASSERT_TRUE(after->put("new" + std::to_string(n), {"2"}));
    EXPECT_GT(after->look("new" + std::to_string(n)).cas, highest);
  }
}

TEST_P(Handover, WhatWasFlushedStaysSo) {
  auto before = begin();
  ASSERT_TRUE(before->put("old", {"1"}));
  before->engine().flush(before->clock().now());
  ASSERT_TRUE(before->put("new", {"2"}));
  stop(std::move(before));
  auto after = begin_again();
  EXPECT_EQ(after->get("old"), "none");
  EXPECT_EQ(after->get("new"), "2");
  after->engine().flush(after->clock().now() + 50);  // becomes due while it is down
  stop(std::move(after));
  wait(100);
  after = begin_again();
  EXPECT_EQ(after->get("new"), "none");
  EXPECT_EQ(back_, 0u);
}

TEST_P(Handover, WithLessMemoryTheNewestComeBack) {
  EngineOptions options;
  options.limit = 8 << 20;
  auto before = begin(options);
  const int number = 6 * (1 << 20) / 1200;
  for (int n = 0; n < number; ++n) ASSERT_TRUE(before->put(std::to_string(n), {std::string(1000, 'x')}));
  stop(std::move(before));
  options.limit = 3 << 20;
  auto after = begin_again(options);
  EXPECT_GT(back_, static_cast<std::uint64_t>(number) / 3);
  EXPECT_LT(back_, static_cast<std::uint64_t>(number));
  EXPECT_LE(after->engine().memory().allocated, options.limit);
  for (int n = 0; n < number; ++n)
    EXPECT_EQ(after->look(std::to_string(n)).hit, n >= number - static_cast<int>(back_)) << n;
  ASSERT_TRUE(after->put("further", {std::string(1000, 'y')}));  // it evicts as usual
}

TEST_P(Handover, OtherOptionsTakeWhatFits) {
  EngineOptions options;
  options.item_size_max = 1 << 20;
  auto before = begin(options);
  ASSERT_TRUE(before->put("small", {"1", 9}) && before->put("large", {std::string(200'000, 'x')}));
  stop(std::move(before));
  options.item_size_max = 100'000, options.cas = false, options.sizes = SlabSizes(1.1, 120, kPageSize / 4);
  options.hash = hash_xxh3, options.lru.segmented = false;
  auto after = std::make_unique<Client>(GetParam(), options);
  {
    MemoryFile file(name());
    EXPECT_EQ(file.take_back(after->engine(), after->clock(), options.hash), 1u);
  }
  std::vector<const Item*> there;
  after->engine().newest(there);
  ASSERT_EQ(there.size(), 1u);
  EXPECT_EQ(there[0]->key(), "small");
  EXPECT_EQ(there[0]->client_flags(), 9u);
  EXPECT_EQ(there[0]->cas(), 0u);
  EXPECT_EQ(there[0]->lru & kSegmentMask, kCold);
}

TEST_P(Handover, TheTableIsAsLargeAsItWas) {
  EngineOptions options;
  options.hash_power = 12;
  auto before = begin(options);
  for (int n = 0; n < 7000; ++n) ASSERT_TRUE(before->put(std::to_string(n), {"x"}));
  while (before->engine().wants_expansion()) before->engine().expand();
  const unsigned power = before->engine().memory().hash_power;
  EXPECT_EQ(power, 13u);
  stop(std::move(before));
  auto after = begin_again(options);
  EXPECT_EQ(after->engine().memory().hash_power, power);
  for (int n = 0; n < 7000; n += 50) ASSERT_EQ(after->get(std::to_string(n)), "x");
}

INSTANTIATE_TEST_SUITE_P(All, Handover, testing::ValuesIn(disciplines().begin(), disciplines().end()),
                         [](const auto& of) {
                           std::string name(of.param.name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// --- files that are not as they should be ------------------------------------------------------------------

class MemoryFileTest : public testing::Test {
 protected:
  const Discipline& locks = *find_discipline("locks");

  /// Files of three items; the first one written is the one stored last.
  void make_files() {
    Client client(locks, {});
    for (const auto& [key, value] : values_) ASSERT_TRUE(client.put(key, {value, 3}));
    MemoryFile file(name());
    file.forget();
    file.save(client.engine(), client.clock());
    items_ = content(name()), meta_ = content(meta_name());
  }
  /// How many items come back; none of them may have a wrong value.
  unsigned come_back() {
    Client client(locks, {});
    MemoryFile file(name());
    const std::uint64_t back = file.take_back(client.engine(), client.clock(), hash_murmur3);
    unsigned right = 0;
    for (const auto& [key, value] : values_) {
      const std::string now = client.get(key);
      EXPECT_TRUE(now == value || now == "none") << key << ": " << now;
      right += now == value;
    }
    EXPECT_EQ(client.engine().items(), right);
    EXPECT_EQ(back, right);
    return right;
  }
  std::string name() const { return folder_ / "items"; }
  std::string meta_name() const { return folder_ / "items.meta"; }

  TemporaryFolder folder_;
  const std::map<std::string, std::string> values_{{"a", "one"}, {"key2", std::string(20, 'x')}, {"k3", ""}};
  std::string items_, meta_;
};

TEST_F(MemoryFileTest, FilesThatWereNotChangedComeBackAgainAndAgain) {
  make_files();
  EXPECT_EQ(come_back(), 3u);
  EXPECT_EQ(come_back(), 3u);
  MemoryFile(name()).forget();
  EXPECT_EQ(content(name()), "");
  EXPECT_FALSE(std::filesystem::exists(meta_name()));
  EXPECT_FALSE(std::filesystem::exists(meta_name() + ".new"));
  EXPECT_EQ(come_back(), 0u);
}

TEST_F(MemoryFileTest, AFlippedBitCostsItemsAndChangesNone) {
  make_files();
  for (std::size_t at = 0; at < items_.size(); ++at) {
    std::string flipped = items_;
    flipped[at] = static_cast<char>(flipped[at] ^ 1 << at % 8);
    overwrite(name(), flipped);
    EXPECT_LT(come_back(), 3u) << at;
  }
}

TEST_F(MemoryFileTest, OfATruncatedFileWhatIsWholeComesBack) {
  make_files();
  std::vector<unsigned> back;
  for (std::size_t length = 0; length <= items_.size(); ++length) {
    overwrite(name(), items_.substr(0, length));
    back.push_back(come_back());
  }
  EXPECT_TRUE(std::is_sorted(back.begin(), back.end()));
  EXPECT_EQ(back.front(), 0u);
  EXPECT_EQ(back[items_.size() - 1], 2u);
  EXPECT_EQ(back.back(), 3u);
}

TEST_F(MemoryFileTest, AnItemInAnothersPlaceIsRefused) {
  make_files();
  const std::size_t head = kItemsMagic.size() + 8, one = sizeof(ItemHead);
  const std::size_t last = items_.size() - one - 1 - 3;  // the item "a", stored first and written last
  ASSERT_EQ(items_.substr(last + one, 4), "aone");
  std::string twice = items_.substr(0, head) + items_.substr(last) + items_.substr(head);
  overwrite(name(), twice);
  EXPECT_EQ(come_back(), 0u);
}

TEST_F(MemoryFileTest, AnotherStopsItemsAreRefused) {
  make_files();
  const std::string first = items_;
  make_files();
  overwrite(name(), first);
  EXPECT_EQ(come_back(), 0u);
  // With the right id in front, too.
  overwrite(name(), items_.substr(0, kItemsMagic.size() + 8) + first.substr(kItemsMagic.size() + 8));
  EXPECT_EQ(come_back(), 0u);
}

TEST_F(MemoryFileTest, AChangedMetaIsNeverWhole) {
  make_files();
  Meta meta;
  ASSERT_EQ(read_meta(meta_, meta), MetaKind::whole);
  EXPECT_EQ(meta.items, 3u);
  EXPECT_EQ(meta.length, items_.size());
  for (std::size_t at = 0; at < meta_.size(); ++at)
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string flipped = meta_;
      flipped[at] = static_cast<char>(flipped[at] ^ 1 << bit);
      EXPECT_NE(read_meta(flipped, meta), MetaKind::whole) << at;
    }
  for (std::size_t length = 0; length < meta_.size(); ++length)
    EXPECT_NE(read_meta(meta_.substr(0, length), meta), MetaKind::whole) << length;
  EXPECT_NE(read_meta(meta_ + "\n", meta), MetaKind::whole);
}

TEST_F(MemoryFileTest, MetaOfOthersIsTold) {
  Meta meta;
  EXPECT_EQ(read_meta("", meta), MetaKind::foreign);
  EXPECT_EQ(read_meta("# my notes\n", meta), MetaKind::foreign);
  EXPECT_EQ(read_meta("Tmain\nKslab_config 1.25\n", meta), MetaKind::memcached);
  EXPECT_EQ(read_meta("rubato-cached items 2\nid 1\n", meta), MetaKind::other_format);
  EXPECT_EQ(read_meta("rubato-cached items 1\nid 1\n", meta), MetaKind::damaged);
}

TEST_F(MemoryFileTest, UnusableMetaOfOursOrOfMemcachedStartsEmpty) {
  for (const std::string text :
       {"rubato-cached items 2\nid 1\n", "rubato-cached items 1\n", "Tmain\nKx 1\n"}) {
    make_files();
    overwrite(meta_name(), text);
    EXPECT_EQ(come_back(), 0u) << text;
  }
}

TEST_F(MemoryFileTest, FilesOfOthersAreRefusedAndStayAsTheyAre) {
  overwrite(name(), "my thesis");
  EXPECT_THAT(refusal(name()), HasSubstr("is not a file of rubato-cached, and would be overwritten"));
  EXPECT_EQ(content(name()), "my thesis");
  overwrite(name(), "");
  overwrite(meta_name(), "my notes");
  EXPECT_THAT(refusal(name()), HasSubstr("remove it to start without items"));
  EXPECT_EQ(content(meta_name()), "my notes");
  EXPECT_THAT(refusal(folder_.path()), HasSubstr("cannot open"));
  EXPECT_THAT(refusal(folder_ / "absent/items"), HasSubstr("No such file or directory"));
  EXPECT_THAT(refusal("/dev/null"), HasSubstr("is not a regular file"));
}

TEST_F(MemoryFileTest, TwoServersDoNotShareAFile) {
  MemoryFile first(name());
  EXPECT_THAT(refusal(name()), HasSubstr("another server uses"));
}

TEST_F(MemoryFileTest, AFileThatWasReplacedMeanwhileIsNotWritten) {
  Client client(locks, {});
  MemoryFile file(name());
  file.forget();
  std::filesystem::remove(name());
  EXPECT_THROW(file.save(client.engine(), client.clock()), Error);
  overwrite(name(), "another's");
  EXPECT_THROW(file.save(client.engine(), client.clock()), Error);
  EXPECT_EQ(content(name()), "another's");
  EXPECT_FALSE(std::filesystem::exists(meta_name()));
}

TEST_F(MemoryFileTest, ALinkLeadsToTheFile) {
  std::filesystem::create_directory(folder_ / "elsewhere");
  overwrite(folder_ / "elsewhere/file", "");
  std::filesystem::create_symlink(folder_ / "elsewhere/file", name());
  Client client(locks, {});
  ASSERT_TRUE(client.put("a", {"one"}));
  {
    MemoryFile file(name());
    file.forget();
    file.save(client.engine(), client.clock());
  }
  EXPECT_TRUE(std::filesystem::is_symlink(name()));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "elsewhere/file.meta"));
  EXPECT_EQ(come_back(), 1u);
}

}  // namespace
}  // namespace rubato::cached
