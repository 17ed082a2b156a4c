// SPDX-License-Identifier: MIT
#include "chip/alloc/allocator_functions.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rubato::chip {
namespace {

constexpr std::uint32_t kA0 = 1U << reg::a0, kA1 = 1U << reg::a1, kA2 = 1U << reg::a2;

struct Named {
  std::string_view name;
  AllocatorFunction function;
};

constexpr Named kOfC[] = {
    {"malloc", {kA0}},
    {"calloc", {kA0 | kA1}},
    {"realloc", {kA1}},
    {"reallocarray", {kA1 | kA2}},
    {"memalign", {kA1}},
    {"aligned_alloc", {kA1}},
    {"posix_memalign", {kA2, true}},
    {"valloc", {kA0}},
    {"pvalloc", {kA0}},
};

// Prefixes that glibc, jemalloc, gperftools and mimalloc put before the names of C.
constexpr std::string_view kPrefixes[] = {"", "__libc_", "je_", "tc_", "mi_"};

constexpr Named kOthers[] = {
    {"_Znwm", {kA0}},
    {"_Znam", {kA0}},
    {"_ZnwmRKSt9nothrow_t", {kA0}},
    {"_ZnamRKSt9nothrow_t", {kA0}},
    {"_ZnwmSt11align_val_t", {kA0}},
    {"_ZnamSt11align_val_t", {kA0}},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t", {kA0}},
    {"_ZnamSt11align_val_tRKSt9nothrow_t", {kA0}},
    {"tc_new", {kA0}},
    {"tc_newarray", {kA0}},
    {"mi_new", {kA0}},
    {"mi_zalloc", {kA0}},
    {"mi_malloc_small", {kA0}},
    {"mi_malloc_aligned", {kA0}},
    {"mmap", {kA1, false, true}},
    {"mmap64", {kA1, false, true}},
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
  std::uint64_t product = 1;
  for (const unsigned argument : {reg::a0, reg::a1, reg::a2})
    if ((bytes >> argument & 1) != 0 && __builtin_mul_overflow(product, hart.x[argument], &product)) return 0;
  return product;
}

std::unordered_map<Addr, AllocatorFunction> allocator_functions(const Symbols& symbols) {
  std::vector<std::string> names;
  std::vector<AllocatorFunction> functions;
  const auto add = [&](std::string name, const AllocatorFunction& function) {
    names.push_back(std::move(name));
    functions.push_back(function);
  };
  for (const std::string_view prefix : kPrefixes)
    for (const Named& named : kOfC) add(std::string(prefix) + std::string(named.name), named.function);
  for (const Named& named : kOthers) add(std::string(named.name), named.function);
  const std::vector<std::optional<Addr>> addresses = symbols.find_functions(names);
  std::unordered_map<Addr, AllocatorFunction> found;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (addresses[i]) found.emplace(*addresses[i], functions[i]);
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
