// riscv_hwprobe, with all keys of Linux 6. The cores are alike, so the set of cores that a program asks about
// matters only if it is empty, or to be reduced to those that have certain values.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "chip/isa/cache_block.hpp"
#include "chip/os/isa_extensions.hpp"
#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

struct Pair {
  std::int64_t key;
  std::uint64_t value;
};

struct Known {
  std::uint64_t value;
  bool is_bitmask;  ///< a set of features, of which a program may ask for some
};

constexpr std::uint64_t kBaseIsIma = 1, kMisalignedFast = 3, kVectorUnsupported = 4,
                        kNanosecond = 1'000'000'000;
constexpr std::uint64_t kWhichCpus = 1;  // flag

/// By key. Vendor, architecture and implementation are 0, as vendors' extensions are.
constexpr Known kKnown[] = {
    {0, false},                        // MVENDORID
    {0, false},                        // MARCHID
    {0, false},                        // MIMPID
    {kBaseIsIma, true},                // BASE_BEHAVIOR
    {hwprobe_extensions(), true},      // IMA_EXT_0
    {kMisalignedFast, true},           // CPUPERF_0
    {sizeof(isa::CacheBlock), false},  // ZICBOZ_BLOCK_SIZE
    {AddressSpace::kSize - 1, false},  // HIGHEST_VIRT_ADDRESS
    {kNanosecond, false},              // TIME_CSR_FREQ
    {kMisalignedFast, false},          // MISALIGNED_SCALAR_PERF
    {kVectorUnsupported, false},       // MISALIGNED_VECTOR_PERF
    {0, true},                         // VENDOR_EXT_THEAD_0
    {sizeof(isa::CacheBlock), false},  // ZICBOM_BLOCK_SIZE
    {0, true},                         // VENDOR_EXT_SIFIVE_0
    {0, true},                         // VENDOR_EXT_MIPS_0
    {sizeof(isa::CacheBlock), false},  // ZICBOP_BLOCK_SIZE
};

const Known* known(std::int64_t key) {
  return key >= 0 && key < static_cast<std::int64_t>(std::size(kKnown)) ? &kKnown[key] : nullptr;
}

bool matches(const Pair& asked) {
  const Known* const is = known(asked.key);
  if (is == nullptr) return false;
  return is->is_bitmask ? (asked.value & ~is->value) == 0 : asked.value == is->value;
}

}  // namespace

std::int64_t Process::Impl::sys_riscv_hwprobe(Call& call) {
  constexpr std::uint64_t kMaxPairs = 4096, kMaxSetBytes = 1024;
  const std::uint64_t count = call.a[1], flags = call.a[4];
  const bool is_which = flags == kWhichCpus;
  if (flags != 0 && !is_which) return -EINVAL;
  if (count > kMaxPairs) return -EINVAL;
  const std::uint64_t set_bytes = std::min(call.a[2], kMaxSetBytes);
  if (is_which && (set_bytes == 0 || call.a[3] == 0)) return -EINVAL;

  std::vector<std::uint8_t> set(set_bytes);
  if (set_bytes != 0 && !user.read(call.a[3], set.data(), set_bytes)) return -EFAULT;
  if (set_bytes == 0 && call.a[3] != 0) return -EINVAL;  // a set of no cores
  if (is_which && std::ranges::all_of(set, [](std::uint8_t byte) { return byte == 0; }))
    std::ranges::fill(set, std::uint8_t{0xff});
  bool is_empty = set_bytes != 0;
  for (std::uint64_t core = 0; core < 8 * set_bytes; ++core) {
    const auto bit = static_cast<std::uint8_t>(1U << core % 8);
    if (core >= options.cores) set[core / 8] = static_cast<std::uint8_t>(set[core / 8] & ~bit);
    is_empty = is_empty && (set[core / 8] & bit) == 0;
  }
  if (is_empty && !is_which) return -EINVAL;

  std::vector<Pair> pairs(count);
  const std::uint64_t bytes = count * sizeof(Pair);
  if (!user.read(call.a[0], pairs.data(), bytes) || !user.writable(call.a[0], bytes)) return -EFAULT;
  if (is_which) {
    if (!user.writable(call.a[3], set_bytes)) return -EFAULT;
    if (!std::ranges::all_of(pairs, matches)) std::ranges::fill(set, std::uint8_t{0});
  }
  for (Pair& pair : pairs) {
    const Known* const is = known(pair.key);
    if (is == nullptr) {
      pair = {-1, 0};
    } else if (!is_which) {
      pair.value = is->value;
    }
  }
  if (!user.write(call.a[0], pairs.data(), bytes)) return -EFAULT;
  return !is_which || user.write(call.a[3], set.data(), set_bytes) ? 0 : -EFAULT;
}

}  // namespace rubato::chip
