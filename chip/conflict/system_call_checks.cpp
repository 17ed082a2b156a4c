// SPDX-License-Identifier: MIT
#include "chip/conflict/system_call_checks.hpp"

namespace rubato::chip {

void SystemCallChecks::check(Addr first, Addr last, bool readers, AbortCause cause) {
  if (!in_call_) return;
  if (readers && end_reservations_) end_reservations_(line_of(first), line_of(last));
  if (!conflicts_ || !detector_.is_active()) return;
  victims_.clear();
  detector_.accessors(line_of(first), line_of(last), readers, victims_);
  std::erase_if(victims_, [this](const Attempt* attempt) { return handler_->is_decided(*attempt); });
  if (victims_.empty()) return;
  handler_->abort(victims_, {cause, line_of(first), core_, nullptr}, now_);
}

}  // namespace rubato::chip
