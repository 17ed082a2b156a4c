// The objects of System V IPC: shared memory, semaphores and message queues. They belong to the run: none is
// an object of the host, and all are gone at its end.
//
// An object has a number (its *id*) and perhaps a *key*, by which processes that know no id find it. An id is
// the place in a table and a sequence number, as on Linux: ids come back late.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "chip/memory/file_views.hpp"
#include "chip/os/open_file.hpp"

namespace rubato::chip {

namespace ipc {
/// Flags of shmget() and its like, and of operations.
inline constexpr std::uint32_t kCreate = 01000, kExclusive = 02000, kNoWait = 04000, kModes = 0777;
/// Commands of shmctl() and its like.
enum Command : std::int32_t { kRemove = 0, kSet = 1, kStatus = 2, kInfo = 3 };
inline constexpr std::uint32_t kMayRead = 0444, kMayWrite = 0222, kMayExecute = 0111;
}  // namespace ipc

/// The common part of all objects.
struct IpcHead {
  std::int32_t key = 0;  ///< 0 (IPC_PRIVATE): none finds it by a key
  std::uint32_t mode = 0;
  std::int32_t id = 0;
  std::uint32_t user = kGuestUser,
                group = kGuestUser;  ///< that IPC_SET has told: the creator keeps its rights

  /// The rights `asked`, as bits of a mode, are those of the one user.
  bool allows(std::uint32_t asked) const { return owner_may(mode, asked >> 6 | asked >> 3 | asked); }
};

/// struct ipc64_perm.
struct IpcStatus {
  std::int32_t key;
  std::uint32_t user, group, creator, creator_group, mode;
  std::uint16_t sequence, pad;
  std::uint32_t pad2;
  std::uint64_t unused[2];
};
static_assert(sizeof(IpcStatus) == 48);

/// All objects of one kind. Object has an IpcHead `head`.
template <class Object>
class IpcTable {
 public:
  explicit IpcTable(std::int32_t most) : most_(most) {}

  bool empty() const { return objects_.empty(); }
  std::size_t size() const { return objects_.size(); }
  bool is_full() const { return objects_.size() >= static_cast<std::size_t>(most_); }
  /// The place of the last object, 0 if there is none.
  std::int32_t last_place() const { return objects_.empty() ? 0 : objects_.rbegin()->first; }

  /// `was_there`: a call has found it before, and has waited since.
  /// @returns 0, -EINVAL: there was none, or -EIDRM: it was removed, or another one has its place.
  std::int64_t find(std::int32_t id, Object*& result, bool was_there = false) {
    const auto found = id >= 0 ? objects_.find(id % kPlaces) : objects_.end();
    if (found == objects_.end()) return was_there ? -EIDRM : -EINVAL;
    if (found->second.head.id != id) return -EIDRM;
    result = &found->second;
    return 0;
  }
  std::int64_t at_place(std::int32_t place, Object*& result) {
    const auto found = objects_.find(place);
    if (found == objects_.end()) return -EINVAL;
    result = &found->second;
    return 0;
  }
  /// shmget() and its like: the id of the object of `key`. `fits`: it serves the caller. Without one `make`
  /// gives a new object, or an error.
  template <class Fits, class Make>
  std::int64_t get(std::int32_t key, std::uint32_t flags, Fits fits, Make make) {
    Object* const there = key != 0 ? of_key(key) : nullptr;
    if (there != nullptr) {
      constexpr std::uint32_t kNew = ipc::kCreate | ipc::kExclusive;
      if ((flags & kNew) == kNew) return -EEXIST;
      if (!fits(*there)) return -EINVAL;
      return there->head.allows(flags & ipc::kModes) ? there->head.id : -EACCES;
    }
    if (key != 0 && (flags & ipc::kCreate) == 0) return -ENOENT;
    Object object;
    if (const std::int64_t error = make(object); error < 0) return error;
    if (is_full()) return -ENOSPC;
    object.head.key = key;
    object.head.mode = flags & ipc::kModes;
    return add(std::move(object));
  }
  void remove(std::int32_t id) { objects_.erase(id % kPlaces); }
  template <class Is>
  void remove_if(Is is) {
    std::erase_if(objects_, [&](const auto& object) { return is(object.second); });
  }
  auto begin() { return objects_.begin(); }
  auto end() { return objects_.end(); }

 private:
  static constexpr std::int32_t kPlaces = 32768, kLeastRound = 64, kSequences = 65536;

  Object* of_key(std::int32_t key) {
    for (auto& [place, object] : objects_)
      if (object.head.key == key) return &object;
    return nullptr;
  }
  std::int32_t add(Object object) {
    const auto in_use = static_cast<std::int32_t>(objects_.size());
    const std::int32_t round = std::min(most_, std::max((in_use + 1) * 3 / 2, kLeastRound));
    std::int32_t place = last_ + 1;
    while (place >= round || objects_.contains(place)) place = place >= round ? 0 : place + 1;
    if (place <= last_) sequence_ = (sequence_ + 1) % kSequences;
    last_ = place;
    const std::int32_t id = object.head.id = sequence_ * kPlaces + place;
    objects_.emplace(place, std::move(object));
    return id;
  }

  const std::int32_t most_;
  std::map<std::int32_t, Object> objects_;  // by place
  std::int32_t last_ = -1, sequence_ = 0;
};

/// Memory that processes attach. Its contents are a file of the host without a name, as those of other shared
/// memory: all attached processes see one copy.
struct SharedSegment {
  IpcHead head{};
  std::uint64_t bytes = 0;
  std::shared_ptr<const MappedFile> file{};
  bool is_removed = false;  ///< goes with the last process that has attached it
  bool is_locked = false;
  std::int32_t creator = 0, last = 0;                             ///< processes
  std::int64_t attached_at = 0, detached_at = 0, changed_at = 0;  ///< seconds of the guest's date
};

/// An operation of semop(), as the program has it.
struct SemaphoreOperation {
  std::uint16_t index;
  std::int16_t change;  ///< 0: waits for zero
  std::uint16_t flags;
};
static_assert(sizeof(SemaphoreOperation) == 6);

struct SemaphoreSet {
  static constexpr std::int32_t kMostValue = 32767;
  static constexpr std::uint16_t kUndo = 0x1000;

  struct Semaphore {
    std::int32_t value = 0, last = 0;  ///< last: the process
  };
  /// The effect that operations would have, all at once or none.
  struct Attempt {
    std::int64_t error = 0;      ///< -ERANGE; -EAGAIN: one has to wait
    std::size_t stopped_at = 0;  ///< that one
    std::map<std::uint16_t, std::int32_t> values{}, adjustments{};
  };
  Attempt attempt(std::span<const SemaphoreOperation> operations, std::int32_t process) const;
  /// An attempt without error.
  void perform(std::span<const SemaphoreOperation> operations, std::int32_t process, const Attempt& attempt);
  /// The process has ended: takes back what it has asked for (SEM_UNDO). @returns whether anything was.
  bool undo(std::int32_t process);
  /// Sets a value; what processes would take back of it is forgotten.
  void set(std::size_t index, std::int32_t value, std::int32_t process);

  IpcHead head{};
  std::vector<Semaphore> semaphores{};
  std::map<std::int32_t, std::map<std::uint16_t, std::int32_t>> adjustments{};  ///< by process and semaphore
  std::int64_t operated_at = 0, changed_at = 0;
};

struct MessageQueue {
  static constexpr std::uint64_t kMostBytes = 16384, kMostOfMessage = 8192;

  struct Message {
    std::int64_t type;
    std::vector<std::byte> text;
  };

  IpcHead head{};
  std::deque<Message> messages{};
  std::uint64_t bytes = 0, most_bytes = kMostBytes;
  std::int32_t last_sender = 0, last_receiver = 0;
  std::int64_t sent_at = 0, received_at = 0, changed_at = 0;
};

/// All of a run.
struct IpcObjects {
  static constexpr std::int32_t kMostSegments = 4096, kMostOthers = 32000;

  IpcTable<SharedSegment> segments{kMostSegments};
  IpcTable<SemaphoreSet> semaphores{kMostOthers};
  IpcTable<MessageQueue> queues{kMostOthers};

  bool empty() const { return segments.empty() && semaphores.empty() && queues.empty(); }
};

IpcStatus status_of(const IpcHead& head, std::uint32_t more_modes = 0);
/// IPC_SET.
void set_rights(IpcHead& head, const IpcStatus& wanted);

}  // namespace rubato::chip
