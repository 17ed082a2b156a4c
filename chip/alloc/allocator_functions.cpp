// SPDX-License-Identifier: MIT
#include "chip/alloc/allocator_functions.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

namespace rubato::chip {
namespace {

using Bytes = AllocatorFunction::Bytes;

struct Named {
  std::string_view name;
  AllocatorFunction function;
};

constexpr Named kOfC[] = {
    {"malloc", {Bytes::a0}},
    {"calloc", {Bytes::a0_a1}},
    {"realloc", {Bytes::a1}},
    {"reallocarray", {Bytes::a1_a2}},
    {"memalign", {Bytes::a1}},
    {"aligned_alloc", {Bytes::a1}},
    {"posix_memalign", {Bytes::a2, true}},
    {"valloc", {Bytes::a0}},
    {"pvalloc", {Bytes::a0}},
};

// Prefixes that glibc, jemalloc, gperftools and mimalloc put before the names of C.
constexpr std::string_view kPrefixes[] = {"", "__libc_", "je_", "tc_", "mi_"};

constexpr Named kOthers[] = {
    {"_Znwm", {Bytes::a0}},
    {"_Znam", {Bytes::a0}},
    {"_ZnwmRKSt9nothrow_t", {Bytes::a0}},
    {"_ZnamRKSt9nothrow_t", {Bytes::a0}},
    {"_ZnwmSt11align_val_t", {Bytes::a0}},
    {"_ZnamSt11align_val_t", {Bytes::a0}},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t", {Bytes::a0}},
    {"_ZnamSt11align_val_tRKSt9nothrow_t", {Bytes::a0}},
    {"tc_new", {Bytes::a0}},
    {"tc_newarray", {Bytes::a0}},
    {"mi_new", {Bytes::a0}},
    {"mi_zalloc", {Bytes::a0}},
    {"mi_malloc_small", {Bytes::a0}},
    {"mi_malloc_aligned", {Bytes::a0}},
    {"mmap", {Bytes::a1, false, true}},
    {"mmap64", {Bytes::a1, false, true}},
};

struct Inside {
  std::string_view prefix;  ///< of the functions' names
  std::string_view proof;   ///< a function that the program has if these are the allocator's
  bool only_maps = false;   ///< they ask the kernel only; other functions of this name may be a user's
};

constexpr Inside kInsides[] = {
    {"_int_", "_int_malloc"},
    {"_mid_memalign", "_int_malloc"},
    {"sysmalloc", "_int_malloc", true},
    {"new_heap", "_int_malloc", true},
    {"alloc_new_heap", "_int_malloc", true},
    {"arena_get", "_int_malloc", true},
    {"je_", "je_malloc"},
    {"mi_", "mi_malloc"},
    {"_mi_", "mi_malloc"},
    {"tc_", "tc_malloc"},
    {"_ZN8tcmalloc", "tc_malloc"},
    {"_ZN12_GLOBAL__N_19do_malloc", "tc_malloc"},
    {"_ZN6rubato8capalloc", "malloc"},
};

}  // namespace

std::uint64_t AllocatorFunction::asked(const HartState& hart) const {
  const std::uint64_t a0 = hart.x[reg::a0], a1 = hart.x[reg::a1], a2 = hart.x[reg::a2];
  std::uint64_t product = 0;
  switch (bytes) {
    case Bytes::a0:
      return a0;
    case Bytes::a1:
      return a1;
    case Bytes::a2:
      return a2;
    case Bytes::a0_a1:
      return __builtin_mul_overflow(a0, a1, &product) ? 0 : product;
    case Bytes::a1_a2:
      return __builtin_mul_overflow(a1, a2, &product) ? 0 : product;
  }
  return 0;
}

std::uint32_t AllocatorFunction::arguments() const {
  constexpr std::uint32_t kA0 = 1U << reg::a0, kA1 = 1U << reg::a1, kA2 = 1U << reg::a2;
  const std::uint32_t result = stores_result ? kA0 : 0;
  switch (bytes) {
    case Bytes::a0:
      return result | kA0;
    case Bytes::a1:
      return result | kA1;
    case Bytes::a2:
      return result | kA2;
    case Bytes::a0_a1:
      return result | kA0 | kA1;
    case Bytes::a1_a2:
      return result | kA1 | kA2;
  }
  return result;
}

std::unordered_map<Addr, AllocatorFunction> allocator_functions(const Symbols& symbols) {
  std::unordered_map<Addr, AllocatorFunction> found;
  const auto add = [&](std::string_view name, const AllocatorFunction& function) {
    if (const auto address = symbols.find_function(name)) found.emplace(*address, function);
  };
  for (const std::string_view prefix : kPrefixes)
    for (const Named& named : kOfC) add(std::string(prefix) + std::string(named.name), named.function);
  for (const Named& named : kOthers) add(named.name, named.function);
  return found;
}

bool is_inside_allocator(const Symbols& symbols, std::string_view name, bool maps) {
  return std::any_of(std::begin(kInsides), std::end(kInsides), [&](const Inside& inside) {
    return (maps || !inside.only_maps) && name.starts_with(inside.prefix) &&
           symbols.find_function(inside.proof).has_value();
  });
}

std::string own_name(std::string_view demangled) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)::", kNew = "operator new";
  if (demangled.starts_with(kNew)) return std::string(kNew);
  std::string name;
  int depth = 0;
  for (std::size_t i = 0; i < demangled.size(); ++i) {
    if (demangled.substr(i).starts_with(kUnnamed)) {
      i += kUnnamed.size() - 1;
      continue;
    }
    const char c = demangled[i];
    if (c == '<') {
      ++depth;
    } else if (c == '>') {
      --depth;
    } else if (depth == 0) {
      if (c == '(') break;
      name += c;
    }
  }
  return name.substr(name.rfind(' ') + 1);
}

bool is_of_library(std::string_view own) {
  // The function of a std::thread is the user's, inlined.
  return (own.starts_with("std::") && !own.starts_with("std::thread::_State_impl")) ||
         own.starts_with("__gnu_cxx::");
}

bool is_allocation_wrapper(std::string_view own) {
  return own == "operator new" || own.find("alloc") != std::string_view::npos ||
         own.find("Alloc") != std::string_view::npos;
}

}  // namespace rubato::chip
