// Tasks whose capsules read a file on the simulated disk, as a key-value store's do: attempts wait there with
// their signatures, and are aborted meanwhile.
//   store TASKS
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "rubato/capsule.hpp"
#include "rubato/rubato.hpp"
#include "tests/golden/programs/say.hpp"

namespace {

using golden::say;

constexpr std::uint64_t kPage = 4096, kPages = 32, kMost = 64, kAccounts = 8;

struct Disk {
  int file = -1;
  std::uint64_t reads = 0;
  alignas(kPage) unsigned char pages[kMost][kPage] = {};
};
RUBATO_UNTRACKED rubato::untracked<Disk> disk;

struct alignas(64) Account {
  std::uint64_t balance = 0;
};
Account accounts[kAccounts];

}  // namespace

RUBATO_CAPSULE(std::uint64_t, read_page, (std::uint64_t task)) {
  unsigned char* const page = disk->pages[task % kMost];
  const std::int64_t got =
      rubato::capsule::system_call(SYS_pread64, disk->file, page, kPage, task * 5 % kPages * kPage);
  __atomic_fetch_add(&disk->reads, 1, __ATOMIC_RELAXED);
  return got == static_cast<std::int64_t>(kPage) ? page[task % kPage] : 1'000'000;
}

namespace {

void serve(std::uint64_t task) {
  Account& account = accounts[task % kAccounts];
  const std::uint64_t read = read_page(task);
  account.balance = account.balance * 3 + read;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  if (count == 0 || count > kMost) return 2;
  disk->file = open("golden-store", O_RDWR | O_CREAT | O_EXCL | O_DIRECT, 0600);
  if (disk->file < 0 || unlink("golden-store") != 0) return 3;
  for (std::uint64_t i = 0; i < kPages; ++i) {
    std::memset(disk->pages[0], static_cast<int>(i + 1), kPage);
    if (pwrite(disk->file, disk->pages[0], kPage, static_cast<off_t>(i * kPage)) !=
        static_cast<ssize_t>(kPage))
      return 3;
  }
  for (std::uint64_t i = 0; i < count; ++i) rubato::create<rubato::mayspec>(serve, {.at = i / 2}, i);
  rubato::run();
  std::uint64_t sum = 0;
  for (const Account& account : accounts) sum = sum * 31 + account.balance;
  say("sum", sum);
  return disk->reads >= count ? 0 : 1;
}
