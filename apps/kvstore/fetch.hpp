// The capsule that brings a tuple from the disk into a free frame, for a task that may still be undone
// (docs/capsules.md; Espresso, Sec. VI-D). Free frames and I/O buffers are stacks in untracked memory under a
// lock. If the task is aborted, an abort handler gives the frame back; its contents are undone with the task.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "apps/kvstore/store.hpp"
#include "rubato/capsule.hpp"

namespace rubato::apps::kvstore {

/// Results of kvstore_fetch() in place of a frame.
inline constexpr std::uint32_t kNoneFree = ~std::uint32_t{0}, kReadFailed = kNoneFree - 1;

/// Before tasks: gives the capsule the free frames of `store`, which outlives its use, and as many buffers.
void begin_fetching(Store& store);
/// After tasks. @returns how many frames are free.
std::uint32_t end_fetching();
/// A frame that no entry has any more. In tasks that cannot be undone.
void give_frame(std::uint32_t frame);

/// The first error of the file.
struct FileError {
  int error = 0;
  bool is_read = false;
  Key key = 0;
};
FileError file_error();
/// In tasks that cannot be undone.
void note_file_error(bool is_read, Key key, std::int64_t result);

}  // namespace rubato::apps::kvstore

/// Takes a free frame and a buffer, reads the tuple into the buffer and copies it into the frame.
/// @returns the frame, kNoneFree, or kReadFailed.
RUBATO_CAPSULE_DECLARE(std::uint32_t, kvstore_fetch, (std::uint64_t key));
