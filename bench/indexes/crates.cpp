// SPDX-License-Identifier: MIT
#include "bench/indexes/crates.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <stdexcept>

namespace indexes {
namespace {

/// Functions of bench/peers/indexes/src/lib.rs.
struct Functions {
  void* (*make)() = nullptr;
  void (*destroy)(void*) = nullptr;
  std::uint64_t (*serve)(void*, const Request*, std::size_t, Value) = nullptr;
};
static_assert(sizeof(Request) == 16, "as lib.rs declares it");

class CrateIndex {
 public:
  explicit CrateIndex(const Functions& functions) : functions_(functions), index_(functions.make()) {}
  CrateIndex(const CrateIndex&) = delete;
  CrateIndex& operator=(const CrateIndex&) = delete;
  ~CrateIndex() { functions_.destroy(index_); }

  /// In portions: the crates' guards are entered once each, as their documents advise.
  std::uint64_t serve(std::span<const Request> requests, std::uint64_t first, Session&) {
    constexpr std::size_t kPortion = 50;
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < requests.size(); i += kPortion) {
      const std::size_t count = std::min(kPortion, requests.size() - i);
      found += functions_.serve(index_, requests.data() + i, count, first + i);
    }
    return found;
  }

 private:
  Functions functions_;
  void* index_;
};

}  // namespace

std::unique_ptr<Contestant> make_of_crate(const std::string& library, const std::string& name) {
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) throw std::runtime_error(dlerror());
  const auto symbol = [&](const char* what) { return dlsym(opened, (name + what).c_str()); };
  Functions functions;
  functions.make = reinterpret_cast<void* (*)()>(symbol("_make"));
  functions.destroy = reinterpret_cast<void (*)(void*)>(symbol("_destroy"));
  functions.serve =
      reinterpret_cast<std::uint64_t (*)(void*, const Request*, std::size_t, Value)>(symbol("_serve"));
  if (functions.make == nullptr || functions.destroy == nullptr || functions.serve == nullptr) return nullptr;
  return std::make_unique<IndexContestant<CrateIndex>>(functions);
}

}  // namespace indexes
