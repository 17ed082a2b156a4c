// System calls of non-speculative tasks under speculation (C18): before a call reads or writes memory, the
// attempts that conflict with it are aborted, as by loads and stores of the calling task; before it changes
// mappings, all that accessed those pages. Memory is restored by then: calls see and change what is
// committed. And, whether anything speculates or not, no store-conditional succeeds over what a call wrote.
//
// An attempt that the last GVT round decided to commit counts as committed, though its tile has not heard of
// it: a call is not interrupted to wait for that. Only time could tell the difference.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "chip/conflict/conflict_scheme.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/os/user_memory.hpp"
#include "chip/speculation/aborter.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class SystemCallChecks final : public UserMemory::Observer, public AddressSpace::Observer {
 public:
  explicit SystemCallChecks(const ConflictScheme& detector) : detector_(detector) {}
  /// Ends the reservations of all cores on lines of a range.
  using EndReservations = std::function<void(LineAddr first, LineAddr last)>;

  void attach(EndReservations end_reservations) { end_reservations_ = std::move(end_reservations); }
  /// Sees what becomes of mapped pages, before it does.
  void attach_changes(std::function<void(Addr begin, Addr end)> before) {
    before_change_ = std::move(before);
  }
  /// Before anything speculates. Outlives its use.
  void attach(Aborter& handler) { handler_ = &handler; }

  /// Begins a call of `core`'s task, or a call that ends late: all checks until end() are made for it.
  /// @param conflicts not of a call that reaches no memory of attempts (Process::syscall_at_once): no attempt
  /// is aborted, so its caller is not aborted in the middle of it.
  void begin(CoreId core, Cycle now, bool conflicts = true) {
    core_ = core;
    now_ = now;
    in_call_ = true;
    conflicts_ = conflicts;
  }
  void end() { in_call_ = false; }

  void before_access(Addr a, std::uint64_t bytes, bool write) override {
    check(a, a + bytes - 1, write, AbortCause::conflict);
  }
  void before_change(Addr begin, Addr end) override {
    if (before_change_) before_change_(begin, end);
    check(begin, end - 1, true, AbortCause::mapping);
  }

 private:
  void check(Addr first, Addr last, bool readers, AbortCause cause);

  const ConflictScheme& detector_;
  Aborter* handler_ = nullptr;
  EndReservations end_reservations_;
  std::function<void(Addr, Addr)> before_change_;
  bool in_call_ = false, conflicts_ = true;
  CoreId core_{};
  Cycle now_{};
  std::vector<Attempt*> victims_;  // scratch
};

}  // namespace rubato::chip
