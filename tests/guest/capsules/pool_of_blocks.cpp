// A pool of 256 blocks, from which each of 1000 tasks takes one in a capsule, and to which a child of it
// gives one back. All tasks meet in one counter, so many attempts are aborted, and their handlers give blocks
// back. Prints how many tasks ended, how many had found no block even non-speculatively, and how many are out
// then; and the most that were out at once.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "rubato/capsule.hpp"
#include "rubato/rubato.hpp"

namespace {

using rubato::create;

constexpr std::uint64_t kBlocks = 256, kTasks = 1000;

struct Pool {
  std::uint64_t out, most;
};
RUBATO_UNTRACKED rubato::untracked<Pool> pool;
rubato::tracked<std::uint64_t> ended, in_vain;

void give_back() { __atomic_sub_fetch(&pool->out, 1, __ATOMIC_RELAXED); }

RUBATO_CAPSULE(bool, take_block, ()) {
  const std::uint64_t out = __atomic_add_fetch(&pool->out, 1, __ATOMIC_RELAXED);
  if (out > kBlocks) {
    give_back();
    return false;
  }
  rubato::capsule::on_abort(give_back);
  if (out > pool->most) pool->most = out;
  return true;
}

void use_block() {
  bool has_block = take_block();
  if (!has_block) {
    rubato::capsule::promote();
    has_block = take_block();
  }
  if (has_block) {
    create<rubato::nonspec>(give_back, {});
  } else {
    in_vain += 1;
  }
  ended += 1;
}

template <auto type>
void create_users() {
  create<type>(
      [] {
        rubato::create_all<type>(std::uint64_t{0}, kTasks,
                                 [](std::uint64_t at) { create<type>(use_block, {.at = at}); });
      },
      {.at = 0});
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_mayspec = argc > 1 && std::string_view(argv[1]) == "mayspec";
  is_mayspec ? create_users<rubato::mayspec>() : create_users<rubato::spec>();
  rubato::run();
  std::printf("ended %llu, in vain %llu, out %llu\n", static_cast<unsigned long long>(ended),
              static_cast<unsigned long long>(in_vain), static_cast<unsigned long long>(pool->out));
  std::printf("most %llu\n", static_cast<unsigned long long>(pool->most));
}
