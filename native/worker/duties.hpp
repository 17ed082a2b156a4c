// Duties of a worker before it takes its next tasks: a bit each, so that one look finds that there are none.
// SPDX-License-Identifier: MIT
#pragma once

namespace rubato::inline v0::native {

class Duties {
 public:
  /// To empty the inbox; to share: a task by itself is worth waking a worker; what else is done by an idle
  /// worker.
  static constexpr unsigned kEmptyInbox = 1, kShare = 2, kRest = 4;

  bool are_due() const { return bits_ != 0; }
  bool is_due(unsigned duty) const { return (bits_ & duty) != 0; }
  void set(unsigned duty, bool is_due) { bits_ = is_due ? bits_ | duty : bits_ & ~duty; }
  /// Whether it was due; it is done.
  bool take(unsigned duty) {
    const bool was_due = is_due(duty);
    bits_ &= ~duty;
    return was_due;
  }

 private:
  unsigned bits_ = kShare;
};

}  // namespace rubato::inline v0::native
