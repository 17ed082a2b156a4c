// System calls by which a program would become another user, or be scheduled otherwise: there is one user,
// and every thread is an ordinary one.
// SPDX-License-Identifier: MIT
#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

/// -1 leaves an identity as it is.
bool is_own_user(std::uint32_t id) { return id == ~std::uint32_t{0} || id == kGuestUser; }

}  // namespace

std::int64_t Process::Impl::sys_setreuid(Call& call) {
  return is_own_user(call.u32(0)) && is_own_user(call.u32(1)) ? 0 : -EPERM;
}
std::int64_t Process::Impl::sys_setregid(Call& call) { return sys_setreuid(call); }
std::int64_t Process::Impl::sys_setresuid(Call& call) {
  return is_own_user(call.u32(0)) && is_own_user(call.u32(1)) && is_own_user(call.u32(2)) ? 0 : -EPERM;
}
std::int64_t Process::Impl::sys_setresgid(Call& call) { return sys_setresuid(call); }
// The previous identity, whether it was changed or not.
std::int64_t Process::Impl::sys_setfsuid(Call&) { return kGuestUser; }
std::int64_t Process::Impl::sys_setfsgid(Call&) { return kGuestUser; }
std::int64_t Process::Impl::sys_setgroups(Call&) { return -EPERM; }

// --- scheduling: every thread is an ordinary one
// --------------------------------------------------------------

std::int64_t Process::Impl::sys_sched_rr_get_interval(Call& call) {
  constexpr std::int64_t kSlice = 3000000;  // of an ordinary thread, as Linux has it by default
  if (call.i32(0) < 0) return -EINVAL;
  if (named_thread(call) == nullptr) return -ESRCH;
  return user.put(call.a[1], abi::Timespec{0, kSlice}) ? 0 : -EFAULT;
}

namespace {

bool is_policy(std::uint32_t policy) {
  constexpr std::uint32_t kNone = 4, kLast = 6;
  return policy <= kLast && policy != kNone;
}
bool is_ordinary_policy(std::uint32_t policy) {
  constexpr std::uint32_t kOther = 0, kBatch = 3, kIdle = 5;
  return policy == kOther || policy == kBatch || policy == kIdle;
}

struct SchedulingAttributes {
  std::uint32_t bytes, policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime, deadline, period;
};
static_assert(sizeof(SchedulingAttributes) == 48);

}  // namespace

std::int64_t Process::Impl::sys_sched_setscheduler(Call& call) {
  Thread* const thread = named_thread(call);
  if (thread == nullptr) return -ESRCH;
  const auto priority = user.get<std::int32_t>(call.a[2]);
  if (!priority) return -EFAULT;
  if (!is_policy(call.u32(1))) return -EINVAL;
  if (!is_ordinary_policy(call.u32(1))) return -EPERM;
  if (*priority != 0) return -EINVAL;
  info(*thread).policy = call.i32(1);
  return 0;
}

std::int64_t Process::Impl::sys_sched_getattr(Call& call) {
  SchedulingAttributes result{};
  if (call.a[1] == 0 || call.i32(0) < 0 || call.u32(2) < sizeof result ||
      call.u32(2) > AddressSpace::kPageBytes || call.u32(3) != 0)
    return -EINVAL;
  const Thread* const thread = named_thread(call);
  if (thread == nullptr) return -ESRCH;
  result.bytes = sizeof result;
  result.policy = static_cast<std::uint32_t>(info(*thread).policy);
  return user.put(call.a[1], result) ? 0 : -EFAULT;
}

std::int64_t Process::Impl::sys_sched_setattr(Call& call) {
  if (call.a[1] == 0 || call.i32(0) < 0 || call.u32(2) != 0) return -EINVAL;
  const auto wanted = user.get<SchedulingAttributes>(call.a[1]);
  if (!wanted) return -EFAULT;
  if (wanted->bytes != 0 && wanted->bytes < sizeof *wanted) return -E2BIG;
  if (!is_policy(wanted->policy)) return -EINVAL;
  Thread* const thread = named_thread(call);
  if (thread == nullptr) return -ESRCH;
  if (!is_ordinary_policy(wanted->policy) || wanted->nice < 0) return -EPERM;
  if (wanted->priority != 0) return -EINVAL;
  info(*thread).policy = static_cast<int>(wanted->policy);
  return 0;
}

}  // namespace rubato::chip
