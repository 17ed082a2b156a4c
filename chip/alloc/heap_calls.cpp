// SPDX-License-Identifier: MIT
#include "chip/alloc/heap_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/error.hpp"

namespace rubato::chip {
namespace {

enum class Function : std::int32_t {
  malloc,
  calloc,
  realloc,
  reallocarray,
  free,
  aligned_alloc,  // also memalign
  posix_memalign,
  valloc,
  pvalloc,
  malloc_usable_size,
  operator_new,  // the first of the operators that allocate
  operator_new_aligned,
  operator_delete,
};

// By the names of the Itanium C++ ABI; calls inside the C library use the __libc_ names.
constexpr std::pair<std::string_view, Function> kFunctions[] = {
    {"malloc", Function::malloc},
    {"__libc_malloc", Function::malloc},
    {"calloc", Function::calloc},
    {"__libc_calloc", Function::calloc},
    {"realloc", Function::realloc},
    {"__libc_realloc", Function::realloc},
    {"reallocarray", Function::reallocarray},
    {"__libc_reallocarray", Function::reallocarray},
    {"free", Function::free},
    {"cfree", Function::free},
    {"__libc_free", Function::free},
    {"aligned_alloc", Function::aligned_alloc},
    {"memalign", Function::aligned_alloc},
    {"__libc_memalign", Function::aligned_alloc},
    {"posix_memalign", Function::posix_memalign},
    {"__posix_memalign", Function::posix_memalign},
    {"valloc", Function::valloc},
    {"__libc_valloc", Function::valloc},
    {"pvalloc", Function::pvalloc},
    {"__libc_pvalloc", Function::pvalloc},
    {"malloc_usable_size", Function::malloc_usable_size},
    {"_Znwm", Function::operator_new},
    {"_Znam", Function::operator_new},
    {"_ZnwmRKSt9nothrow_t", Function::operator_new},
    {"_ZnamRKSt9nothrow_t", Function::operator_new},
    {"_ZnwmSt11align_val_t", Function::operator_new_aligned},
    {"_ZnamSt11align_val_t", Function::operator_new_aligned},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t", Function::operator_new_aligned},
    {"_ZnamSt11align_val_tRKSt9nothrow_t", Function::operator_new_aligned},
    {"_ZdlPv", Function::operator_delete},
    {"_ZdaPv", Function::operator_delete},
    {"_ZdlPvm", Function::operator_delete},
    {"_ZdaPvm", Function::operator_delete},
    {"_ZdlPvRKSt9nothrow_t", Function::operator_delete},
    {"_ZdaPvRKSt9nothrow_t", Function::operator_delete},
    {"_ZdlPvSt11align_val_t", Function::operator_delete},
    {"_ZdaPvSt11align_val_t", Function::operator_delete},
    {"_ZdlPvmSt11align_val_t", Function::operator_delete},
    {"_ZdaPvmSt11align_val_t", Function::operator_delete},
    {"_ZdlPvSt11align_val_tRKSt9nothrow_t", Function::operator_delete},
    {"_ZdaPvSt11align_val_tRKSt9nothrow_t", Function::operator_delete},
};

std::optional<Addr> find_function(const Symbols& symbols, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const auto address = symbols.find_function(name)) return address;
  return std::nullopt;
}

/// a * b, or more than any heap holds.
std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? ~std::uint64_t{0} : result;
}

}  // namespace

HeapCalls::HeapCalls(const Process& process, AddressSpace& memory, std::uint32_t cores)
    : process_(process),
      user_(memory),
      allocator_(memory, cores, process.mappings().first, process.mappings().second) {
  const Symbols& symbols = process.symbols();
  if (symbols.empty())
    throw UsageError(
        "run.alloc is ideal, which finds malloc and its like by their names, but the program has no symbols: "
        "link it without -s, or use run.alloc=guest");
  bool moves_data = false;
  for (const auto& [name, function] : kFunctions) {
    const auto address = symbols.find_function(name);
    if (!address) continue;
    entries_.emplace(*address, static_cast<std::int32_t>(function));
    moves_data |= function == Function::calloc || function == Function::realloc;
  }
  // If the plain name only selects an implementation (an ifunc), the generic one is used.
  const auto memset = find_function(symbols, {"__memset_generic", "memset"});
  const auto memcpy = find_function(symbols, {"__memcpy_generic", "memcpy"});
  if (moves_data && (!memset || !memcpy))
    throw UsageError(
        "run.alloc is ideal, but the program has calloc or realloc without memset and memcpy, in which they "
        "go on: use run.alloc=guest");
  memset_ = memset.value_or(0);
  memcpy_ = memcpy.value_or(0);
}

HeapCalls::Outcome HeapCalls::call(HartState& hart, std::int32_t function,
                                   const IdealAllocator::Caller& caller) {
  allocator_.begin_call(caller);
  taken_ = freed_ = 0;
  const std::uint64_t a0 = hart.x[reg::a0], a1 = hart.x[reg::a1], a2 = hart.x[reg::a2];
  constexpr std::uint64_t kPage = AddressSpace::kPageBytes;
  switch (static_cast<Function>(function)) {
    case Function::malloc:
      return allocate(hart, caller, a0);
    case Function::calloc:
      return allocate_zeroed(hart, caller);
    case Function::realloc:
      return reallocate(hart, caller, a1);
    case Function::reallocarray:
      return reallocate(hart, caller, product(a1, a2));
    case Function::aligned_alloc:
      return allocate(hart, caller, a1, a0);
    case Function::posix_memalign:
      return store_aligned(hart, caller);
    case Function::valloc:
      return allocate(hart, caller, a0, kPage);
    case Function::pvalloc:
      return allocate(hart, caller, std::max(a0, a0 + kPage - 1) & ~(kPage - 1), kPage);
    case Function::malloc_usable_size:
      return give(hart, allocator_.usable(a0));
    case Function::operator_new:
      return allocate_for_operator(hart, caller, BlockHeap::kAlignment);
    case Function::operator_new_aligned:
      return allocate_for_operator(hart, caller, a1);
    case Function::free:
    case Function::operator_delete:
      return free(hart, caller);
  }
  return Outcome::unserved;
}

HeapCalls::Outcome HeapCalls::allocate(HartState& hart, const IdealAllocator::Caller& caller,
                                       std::uint64_t bytes, std::uint64_t alignment) {
  if (caller.attempt != nullptr && bytes > IdealAllocator::kMostSpeculative)
    return fail(hart, "a speculative task asked for much memory");
  // As the C library: an alignment that is no power of two counts as the next one.
  alignment = alignment > AddressSpace::kSize ? AddressSpace::kSize : std::bit_ceil(alignment);
  const BlockHeap::Block block = take(caller, bytes, std::max(alignment, BlockHeap::kAlignment));
  if (block.address == 0) return out_of_memory(hart, caller);
  return give(hart, block.address);
}

HeapCalls::Outcome HeapCalls::allocate_zeroed(HartState& hart, const IdealAllocator::Caller& caller) {
  const std::uint64_t bytes = product(hart.x[reg::a0], hart.x[reg::a1]);
  if (caller.attempt != nullptr && bytes > IdealAllocator::kMostSpeculative)
    return fail(hart, "a speculative task asked for much memory");
  const BlockHeap::Block block = take(caller, bytes);
  if (block.address == 0) return out_of_memory(hart, caller);
  if (block.is_fresh) return give(hart, block.address);
  hart.x[reg::a0] = block.address;
  hart.x[reg::a1] = 0;
  hart.x[reg::a2] = bytes;
  return go_to(hart, memset_);
}

// The program's operator knows what to do when there is no memory: call the new-handler, throw. It runs from
// then on, and asks for memory by malloc or aligned_alloc.
HeapCalls::Outcome HeapCalls::allocate_for_operator(HartState& hart, const IdealAllocator::Caller& caller,
                                                    std::uint64_t alignment) {
  const HartState before = hart;
  const Outcome outcome = allocate(hart, caller, before.x[reg::a0], alignment);
  if (outcome != Outcome::returned || hart.x[reg::a0] != 0) return outcome;
  hart = before;
  std::erase_if(entries_, [](const auto& entry) {
    const auto function = static_cast<Function>(entry.second);
    return function == Function::operator_new || function == Function::operator_new_aligned;
  });
  return Outcome::unserved;
}

HeapCalls::Outcome HeapCalls::store_aligned(HartState& hart, const IdealAllocator::Caller& caller) {
  const Addr place = hart.x[reg::a0];
  const std::uint64_t alignment = hart.x[reg::a1], bytes = hart.x[reg::a2];
  // The result is stored for the caller; a speculative task could not take the store back.
  if (caller.attempt != nullptr) return fail(hart, "a speculative task called posix_memalign");
  if (!user_.writable(place, sizeof(Addr))) {
    fault_ = {FaultKind::store_access, hart.pc, place, {}};
    return Outcome::faulted;
  }
  if (!std::has_single_bit(alignment) || alignment < sizeof(Addr)) return give(hart, EINVAL);
  const BlockHeap::Block block = take(caller, bytes, std::max(alignment, BlockHeap::kAlignment));
  if (block.address == 0) return give(hart, ENOMEM);
  user_.put(place, block.address);
  return give(hart, 0);
}

HeapCalls::Outcome HeapCalls::reallocate(HartState& hart, const IdealAllocator::Caller& caller,
                                         std::uint64_t bytes) {
  const Addr old = hart.x[reg::a0];
  if (old == 0) return allocate(hart, caller, bytes);
  if (bytes == 0) {
    const Outcome outcome = free(hart, caller);
    if (outcome == Outcome::returned) hart.x[reg::a0] = 0;
    return outcome;
  }
  const std::uint64_t usable = allocator_.usable(old);
  if (usable == 0) return free(hart, caller);  // says what is wrong
  if (BlockHeap::rounded(bytes) == usable) return give(hart, old);
  if (caller.attempt != nullptr && bytes > IdealAllocator::kMostSpeculative)
    return fail(hart, "a speculative task asked for much memory");
  const BlockHeap::Block block = take(caller, bytes);
  if (block.address == 0) return out_of_memory(hart, caller);
  if (const Outcome outcome = free(hart, caller, true); outcome != Outcome::returned) return outcome;
  hart.x[reg::a0] = block.address;
  hart.x[reg::a1] = old;
  hart.x[reg::a2] = std::min(usable, bytes);
  return go_to(hart, memcpy_);
}

HeapCalls::Outcome HeapCalls::free(HartState& hart, const IdealAllocator::Caller& caller, bool moved) {
  const Addr address = hart.x[reg::a0];
  if (address == 0) return give(hart, 0);
  switch (moved ? allocator_.free_moved(caller, address) : allocator_.free(caller, address)) {
    case IdealAllocator::FreeOutcome::done:
      freed_ = address;
      return give(hart, address);
    case IdealAllocator::FreeOutcome::not_a_block:
      return fail(hart, fmt::format("freed {:#x}, which is not the start of a block of the heap", address));
    case IdealAllocator::FreeOutcome::freed_before:
      return fail(hart, fmt::format("freed the block at {:#x} a second time", address));
  }
  return Outcome::faulted;
}

BlockHeap::Block HeapCalls::take(const IdealAllocator::Caller& caller, std::uint64_t bytes,
                                 std::uint64_t alignment) {
  const BlockHeap::Block block = allocator_.allocate(caller, bytes, alignment);
  taken_ = block.address;
  return block;
}

HeapCalls::Outcome HeapCalls::give(HartState& hart, std::uint64_t result) {
  hart.x[reg::a0] = result;
  hart.pc = hart.x[reg::ra] & ~Addr{1};
  return Outcome::returned;
}

HeapCalls::Outcome HeapCalls::go_to(HartState& hart, Addr function) {
  hart.pc = function;
  return Outcome::jumped;
}

HeapCalls::Outcome HeapCalls::out_of_memory(HartState& hart, const IdealAllocator::Caller& caller) {
  if (caller.attempt != nullptr) return fail(hart, "a speculative task found no memory");
  set_errno(hart, ENOMEM);
  return give(hart, 0);
}

HeapCalls::Outcome HeapCalls::fail(const HartState& hart, std::string sentence) {
  fault_ = {FaultKind::task_error, hart.pc, hart.x[reg::a0], std::move(sentence)};
  return Outcome::faulted;
}

void HeapCalls::set_errno(const HartState& hart, std::int32_t value) {
  // A program that has set up no thread pointer has no errno.
  if (const auto offset = process_.errno_offset()) user_.put(hart.x[reg::tp] + *offset, value);
}

}  // namespace rubato::chip
