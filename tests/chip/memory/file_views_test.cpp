// Ranges of memory that show bytes of files: cuts, offsets, and the end of the file.
// SPDX-License-Identifier: MIT
#include "chip/memory/file_views.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chip/memory/address_space.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kPage = AddressSpace::kPageBytes;
constexpr std::uint8_t kRw = Page::kRead | Page::kWrite;
constexpr Addr kBase = 0x1000000;

/// A file of `bytes` zeros, without a name.
std::shared_ptr<const MappedFile> new_file(std::uint64_t bytes) {
  const int fd = ::memfd_create("file", MFD_CLOEXEC);
  EXPECT_EQ(::ftruncate(fd, static_cast<off_t>(bytes)), 0);
  return std::make_shared<MappedFile>(fd, FileId{1, static_cast<std::uint64_t>(fd)}, true, "file");
}

FileViews::Range range(Addr begin, Addr end, Addr shown_end, std::uint64_t offset) {
  return {begin, end, shown_end, kRw, {nullptr, offset, true}};
}

TEST(FileViews, ACutRangeKeepsItsOffsetsAndItsEnd) {
  FileViews views;
  views.add(range(10, 20, 16, 100));
  const auto taken = views.take(12, 18);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].begin, 12u);
  EXPECT_EQ(taken[0].shown_end, 16u);
  EXPECT_EQ(taken[0].view.offset, 102u);
  ASSERT_NE(views.at(11), nullptr);
  EXPECT_EQ(views.at(11)->shown_end, 12u);
  EXPECT_EQ(views.at(12), nullptr);
  ASSERT_NE(views.at(18), nullptr);
  EXPECT_EQ(views.at(18)->view.offset, 108u);
  EXPECT_EQ(views.at(18)->shown_end, 18u);
  EXPECT_EQ(views.at(20), nullptr);
}

TEST(FileViews, RangesAreCutToWhatIsAskedFor) {
  FileViews views;
  views.add(range(10, 20, 20, 0));
  views.add(range(30, 40, 40, 50));
  EXPECT_TRUE(views.in(20, 30).empty());
  const auto found = views.in(19, 31);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].begin, 19u);
  EXPECT_EQ(found[0].view.offset, 9u);
  EXPECT_EQ(found[1].end, 31u);
}

TEST(FileViews, AddressesOfBytesOfAFile) {
  FileViews views;
  const auto file = new_file(0);
  views.add({kBase, kBase + 3 * kPage, kBase + 2 * kPage, kRw, {file, kPage, true}});
  using Pairs = std::vector<std::pair<Addr, Addr>>;
  EXPECT_EQ(views.of(file->id(), 0, kPage), Pairs{});
  EXPECT_EQ(views.of(file->id(), 0, kPage + 1), (Pairs{{kBase, kBase + 1}}));
  EXPECT_EQ(views.of(file->id(), 3 * kPage - 1, 100), (Pairs{{kBase + 2 * kPage - 1, kBase + 2 * kPage}}));
  EXPECT_EQ(views.of(file->id(), 0, ~std::uint64_t{0}), (Pairs{{kBase, kBase + 2 * kPage}}));
  EXPECT_EQ(views.of({9, 9}, 0, ~std::uint64_t{0}), Pairs{});
}

TEST(FileMemory, TwoViewsAndTheFileAreOne) {
  AddressSpace memory;
  const auto file = new_file(2 * kPage);
  ASSERT_EQ(memory.map_file(kBase, 2 * kPage, kRw, {file, 0, true}), 0);
  ASSERT_EQ(memory.map_file(kBase + 8 * kPage, kPage, kRw, {file, kPage, true}), 0);
  memory.store<std::uint32_t>(kBase + kPage, 42);
  EXPECT_EQ(memory.load<std::uint32_t>(kBase + 8 * kPage), 42u);
  std::uint32_t word = 0;
  EXPECT_EQ(::pread(file->fd(), &word, 4, kPage), 4);
  EXPECT_EQ(word, 42u);
  memory.unmap(kBase, 2 * kPage);
  memory.map(kBase, 2 * kPage, kRw);
  EXPECT_EQ(memory.load<std::uint32_t>(kBase + kPage), 0u);
  EXPECT_EQ(memory.load<std::uint32_t>(kBase + 8 * kPage), 42u);
}

TEST(FileMemory, PagesBehindTheEndHaveNoRightsUntilTheFileGrows) {
  AddressSpace memory;
  const auto file = new_file(kPage + 1);
  ASSERT_EQ(memory.map_file(kBase, 4 * kPage, kRw, {file, 0, true}), 0);
  EXPECT_TRUE(memory.allows(kBase + 2 * kPage - 8, 8, kRw));
  EXPECT_FALSE(memory.allows(kBase + 2 * kPage, 1, Page::kRead));
  EXPECT_NE(memory.attributes(kBase + 2 * kPage) & Page::kBehindEnd, 0);
  EXPECT_EQ(memory.writable_bytes(), 2 * kPage);
  const std::uint64_t before = memory.generation();
  ASSERT_EQ(::ftruncate(file->fd(), 3 * kPage), 0);
  memory.file_resized(file->id());
  EXPECT_NE(memory.generation(), before);
  EXPECT_TRUE(memory.allows(kBase + 3 * kPage - 8, 8, kRw));
  EXPECT_FALSE(memory.allows(kBase + 3 * kPage, 1, Page::kRead));
  // Rights that are changed meanwhile are those that a page gets when the file has reached it.
  memory.protect(kBase, 4 * kPage, Page::kRead);
  EXPECT_FALSE(memory.allows(kBase + 3 * kPage, 1, Page::kRead));
  ASSERT_EQ(::ftruncate(file->fd(), 4 * kPage), 0);
  memory.file_resized(file->id());
  EXPECT_TRUE(memory.allows(kBase + 3 * kPage, 8, Page::kRead));
  EXPECT_FALSE(memory.allows(kBase + 3 * kPage, 8, Page::kWrite));
  ASSERT_EQ(::ftruncate(file->fd(), 0), 0);
  memory.file_resized(file->id());
  EXPECT_FALSE(memory.allows(kBase, 1, Page::kRead));
  EXPECT_EQ(memory.mapped_bytes(), 4 * kPage);
  EXPECT_EQ(memory.writable_bytes(), 0u);
}

TEST(FileMemory, APrivateViewIsOfTheFileAgainWhenItIsDiscarded) {
  AddressSpace memory;
  const auto file = new_file(kPage);
  ASSERT_EQ(::pwrite(file->fd(), "file", 4, 0), 4);
  ASSERT_EQ(memory.map_file(kBase, kPage, kRw, {file, 0, false}), 0);
  memory.store<char>(kBase, 'm');
  memory.map(kBase + 16 * kPage, kPage, kRw);
  memory.move_contents(kBase, kBase + 16 * kPage, kPage);
  memory.unmap(kBase, kPage);
  EXPECT_EQ(memory.load<char>(kBase + 16 * kPage), 'm');
  memory.discard(kBase + 16 * kPage, kPage);
  EXPECT_EQ(memory.load<char>(kBase + 16 * kPage), 'f');
  char c = 0;
  EXPECT_EQ(::pread(file->fd(), &c, 1, 0), 1);
  EXPECT_EQ(c, 'f');
}

TEST(FileMemory, SharedMemoryWithoutAFileKeepsWhatIsDiscarded) {
  AddressSpace memory;
  ASSERT_EQ(memory.map_file(kBase, 2 * kPage, kRw, {nullptr, 0, true}), 0);
  memory.map(kBase + 2 * kPage, kPage, kRw);
  memory.store<int>(kBase + kPage, 1);
  memory.store<int>(kBase + 2 * kPage, 2);
  memory.discard(kBase, 3 * kPage);
  EXPECT_EQ(memory.load<int>(kBase + kPage), 1);
  EXPECT_EQ(memory.load<int>(kBase + 2 * kPage), 0);
}

TEST(FileMemory, APageThatTheFileHasLostReadsZeroAndIsReported) {
  AddressSpace memory;
  const auto file = new_file(2 * kPage);
  ASSERT_EQ(::pwrite(file->fd(), "x", 1, kPage), 1);
  ASSERT_EQ(memory.map_file(kBase, 2 * kPage, kRw, {file, 0, true}), 0);
  EXPECT_EQ(memory.load<char>(kBase + kPage), 'x');
  EXPECT_EQ(memory.take_lost_page(), std::nullopt);
  ASSERT_EQ(::ftruncate(file->fd(), kPage), 0);  // as another process would, without a word to the view
  EXPECT_EQ(memory.load<char>(kBase + kPage), 0);
  EXPECT_EQ(memory.take_lost_page(), kBase + kPage);
  EXPECT_EQ(memory.take_lost_page(), std::nullopt);
}

TEST(CopiedMemory, HasTheContentsAndRightsOfThen) {
  AddressSpace parent, child;
  parent.map(kBase, 3 * kPage, kRw);
  parent.store<std::uint64_t>(kBase + 2 * kPage - 8, 17);
  parent.protect(kBase + 2 * kPage, kPage, Page::kRead);
  ASSERT_TRUE(child.copy_from(parent));
  parent.store<std::uint64_t>(kBase + 2 * kPage - 8, 18);
  EXPECT_EQ(child.load<std::uint64_t>(kBase + 2 * kPage - 8), 17U);
  EXPECT_EQ(child.load<std::uint64_t>(kBase), 0U) << "nothing was written there";
  EXPECT_TRUE(child.allows(kBase + kPage, 8, kRw));
  EXPECT_FALSE(child.allows(kBase + 2 * kPage, 8, Page::kWrite));
  EXPECT_EQ(child.attributes(kBase + 3 * kPage), 0);
  EXPECT_EQ(child.writable_bytes(), parent.writable_bytes());
  EXPECT_EQ(child.regions(), parent.regions());
  child.unmap(kBase, 3 * kPage);
  EXPECT_EQ(child.writable_bytes(), 0U);
  EXPECT_EQ(parent.load<std::uint64_t>(kBase + 2 * kPage - 8), 18U);
}

TEST(CopiedMemory, SharesWhatIsShared) {
  AddressSpace parent, child;
  const auto file = new_file(2 * kPage);
  ASSERT_EQ(parent.map_file(kBase, kPage, kRw, {nullptr, 0, true}), 0);  // without a file
  ASSERT_EQ(parent.map_file(kBase + 4 * kPage, 2 * kPage, kRw, {file, 0, true}), 0);
  ASSERT_EQ(parent.map_file(kBase + 8 * kPage, 2 * kPage, kRw, {file, 0, false}), 0);
  parent.store<std::uint64_t>(kBase + 8, 1);
  parent.store<std::uint64_t>(kBase + 4 * kPage, 2);
  parent.store<std::uint64_t>(kBase + 9 * kPage, 3);  // its own copy of the page
  ASSERT_TRUE(child.copy_from(parent));
  EXPECT_EQ(child.load<std::uint64_t>(kBase + 8), 1U);
  EXPECT_EQ(child.load<std::uint64_t>(kBase + 4 * kPage), 2U);
  EXPECT_EQ(child.load<std::uint64_t>(kBase + 9 * kPage), 3U);
  child.store<std::uint64_t>(kBase + 8, 11);
  child.store<std::uint64_t>(kBase + 4 * kPage, 12);
  child.store<std::uint64_t>(kBase + 9 * kPage, 13);
  EXPECT_EQ(parent.load<std::uint64_t>(kBase + 8), 11U);
  EXPECT_EQ(parent.load<std::uint64_t>(kBase + 4 * kPage), 12U);
  EXPECT_EQ(parent.load<std::uint64_t>(kBase + 9 * kPage), 3U);
}

}  // namespace
}  // namespace rubato::chip
