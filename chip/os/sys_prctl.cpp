// prctl(): settings of a process and of its threads.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kNameBytes = 16;
constexpr std::uint64_t kLastCapability = 40;

}  // namespace

std::int64_t Process::Impl::sys_prctl(Call& call) {
  enum Option : std::int32_t {
    set_death_signal = 1,
    get_death_signal = 2,
    get_dumpable = 3,
    set_dumpable = 4,
    get_keep_capabilities = 7,
    set_keep_capabilities = 8,
    set_name = 15,
    get_name = 16,
    get_seccomp = 21,
    read_bounding_set = 23,
    get_secure_bits = 27,
    set_timer_slack = 29,
    get_timer_slack = 30,
    set_subreaper = 36,
    get_subreaper = 37,
    set_no_new_privileges = 38,
    get_no_new_privileges = 39,
    set_no_huge_pages = 41,
    get_no_huge_pages = 42,
  };
  const std::uint64_t value = call.a[1];
  const bool has_more = call.a[2] != 0 || call.a[3] != 0 || call.a[4] != 0;
  const auto put_number = [&](std::int32_t number) { return user.put(call.a[1], number) ? 0 : -EFAULT; };
  const auto set_flag = [&](bool& flag) {
    if (value > 1) return -EINVAL;
    flag = value != 0;
    return 0;
  };
  switch (call.i32(0)) {
    case set_death_signal:
      if (value > abi::kSignals) return -EINVAL;
      call.info.death_signal = static_cast<int>(value);
      return 0;
    case get_death_signal:
      return put_number(call.info.death_signal);
    case get_dumpable:
      return settings.is_dumpable ? 1 : 0;
    case set_dumpable:
      return set_flag(settings.is_dumpable);
    case get_keep_capabilities:
      return settings.keeps_capabilities ? 1 : 0;
    case set_keep_capabilities:
      return set_flag(settings.keeps_capabilities);
    case set_name: {
      const auto name = user.string(value, kNameBytes - 1);
      if (!name) return -EFAULT;
      call.info.name = *name;
      return 0;
    }
    case get_name: {
      std::array<char, kNameBytes> name{};
      const std::string text = thread_name(call.thread);
      std::copy_n(text.begin(), std::min<std::size_t>(text.size(), kNameBytes - 1), name.begin());
      return user.put(value, name) ? 0 : -EFAULT;
    }
    case get_seccomp:
    case get_secure_bits:
      return 0;
    case read_bounding_set:
      return value <= kLastCapability ? 1 : -EINVAL;
    case set_timer_slack:
      call.info.timer_slack = call.i64(1) > 0 ? value : call.info.usual_timer_slack;
      return 0;
    case get_timer_slack:
      return static_cast<std::int64_t>(call.info.timer_slack);
    case set_subreaper:
      kernel.children.at(pid).is_subreaper = value != 0;
      return 0;
    case get_subreaper:
      return put_number(kernel.children.at(pid).is_subreaper ? 1 : 0);
    case set_no_new_privileges:
      if (value != 1 || has_more) return -EINVAL;
      settings.has_no_new_privileges = true;
      return 0;
    case get_no_new_privileges:
      if (value != 0 || has_more) return -EINVAL;
      return settings.has_no_new_privileges ? 1 : 0;
    case set_no_huge_pages:
      if (has_more) return -EINVAL;
      settings.has_no_huge_pages = value != 0;
      return 0;
    case get_no_huge_pages:
      if (value != 0 || has_more) return -EINVAL;
      return settings.has_no_huge_pages ? 1 : 0;
    default:
      return -EINVAL;
  }
}

}  // namespace rubato::chip
