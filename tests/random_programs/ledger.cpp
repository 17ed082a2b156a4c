// Capsules of the random programs: a ledger in untracked memory. Tasks enter amounts there and in tracked
// memory: whatever is aborted, both are equal in the end, no token is lost, and no lock is held. A task's
// loads never depend on the ledger, whose order is not defined (P101, P102).
// SPDX-License-Identifier: MIT
#include <sys/syscall.h>
#include <time.h>

#include <cstdint>
#include <cstdio>

#include "rubato/capsule.hpp"
#include "rubato/rubato.hpp"
#include "tests/random_programs/program.hpp"

namespace random_tasks {

namespace capsule = rubato::capsule;

namespace {

constexpr std::uint32_t kTokens = 64;

struct Ledger {
  capsule::TicketLock lock;
  std::uint64_t accounts[kAccounts] = {};
  capsule::TicketLock token_lock;
  std::uint32_t free_count = 0, cut = 0;
  std::uint32_t free_tokens[kTokens] = {};
  std::uint64_t turns = 0;                ///< entered under the lock, never taken back
  std::uint64_t swapped[kAccounts] = {};  ///< the accounts once more, without a lock
};

RUBATO_UNTRACKED rubato::untracked<Ledger> ledger;

/// By load-reserved and store-conditional.
void swap_in(std::uint64_t account, std::uint64_t amount) {
  std::uint64_t* const at = &ledger->swapped[account];
  std::uint64_t before = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (
      !__atomic_compare_exchange_n(at, &before, before + amount, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

void take_back(std::uint64_t account, std::uint64_t amount);
void put_back(std::uint64_t token);

}  // namespace
}  // namespace random_tasks

using random_tasks::ledger;

RUBATO_CAPSULE(void, ledger_enter, (std::uint64_t account, std::uint64_t amount)) {
  if (account >= random_tasks::kAccounts) return rubato::capsule::promote();  // of a task that went wrong
  ledger->lock.lock();
  ledger->accounts[account] += amount;
  ledger->turns += 1;
  ledger->lock.unlock();
  random_tasks::swap_in(account, amount);
  rubato::capsule::on_abort(random_tasks::take_back, account, amount);
}

RUBATO_CAPSULE(void, ledger_take_back, (std::uint64_t account, std::uint64_t amount)) {
  rubato::capsule::promote();  // nothing takes this back
  if (account >= random_tasks::kAccounts) return;
  ledger->lock.lock();
  ledger->accounts[account] -= amount;
  ledger->lock.unlock();
  random_tasks::swap_in(account, -amount);
}

/// Two entries, by nested calls, with a tracked word between: it becomes its mix.
RUBATO_CAPSULE(void, ledger_split, (std::uint64_t account, std::uint64_t amount, std::uint64_t* word)) {
  ledger_enter(account, amount / 2);
  std::uint64_t value = 0;
  rubato::capsule::copy_in(&value, word, sizeof value);
  value = random_tasks::mix(value + amount);
  rubato::capsule::copy_out(word, &value, sizeof value);
  ledger_enter(account, amount - amount / 2);
}

/// The same, but with a wait between the two, and the tracked word read before it and written behind it.
RUBATO_CAPSULE(void, ledger_split_slowly,
               (std::uint64_t account, std::uint64_t amount, std::uint64_t* word,
                std::uint64_t nanoseconds)) {
  if (nanoseconds > 10'000) return rubato::capsule::promote();  // of a task that went wrong
  ledger_enter(account, amount / 2);
  std::uint64_t value = 0;
  rubato::capsule::copy_in(&value, word, sizeof value);
  value = random_tasks::mix(value + amount);
  const timespec time{0, static_cast<std::int64_t>(nanoseconds)};
  rubato::capsule::system_call(SYS_nanosleep, &time, 0);
  rubato::capsule::copy_out(word, &value, sizeof value);
  ledger_enter(account, amount - amount / 2);
}

/// A token and 1, or 0.
RUBATO_CAPSULE(std::uint64_t, ledger_take_token, ()) {
  std::uint64_t token = 0;
  ledger->token_lock.lock();
  if (ledger->free_count > 0) {
    token = ledger->free_tokens[--ledger->free_count] + 1;
  } else if (ledger->cut < random_tasks::kTokens) {
    token = ++ledger->cut;
  }
  ledger->token_lock.unlock();
  if (token != 0) rubato::capsule::on_abort(random_tasks::put_back, token);
  return token;
}

RUBATO_CAPSULE(void, ledger_put_token, (std::uint64_t token)) {
  rubato::capsule::promote();  // nothing takes this back
  if (token == 0 || token > random_tasks::kTokens) return;
  ledger->token_lock.lock();
  if (ledger->free_count < random_tasks::kTokens)
    ledger->free_tokens[ledger->free_count++] = static_cast<std::uint32_t>(token - 1);
  ledger->token_lock.unlock();
}

/// Takes a token and has it put back.
RUBATO_CAPSULE(void, ledger_borrow, ()) {
  if (const std::uint64_t token = ledger_take_token(); token != 0)
    rubato::create<rubato::nonspec>(random_tasks::put_back, {}, token);
}

/// Enters the amount only once it is sure that the task is not for nothing.
RUBATO_CAPSULE(void, ledger_enter_for_good, (std::uint64_t account, std::uint64_t amount)) {
  rubato::capsule::promote();
  if (account >= random_tasks::kAccounts) return;
  ledger->lock.lock();
  ledger->accounts[account] += amount;
  ledger->lock.unlock();
  random_tasks::swap_in(account, amount);
}

namespace random_tasks {
namespace {

void take_back(std::uint64_t account, std::uint64_t amount) { ledger_take_back(account, amount); }
void put_back(std::uint64_t token) { ledger_put_token(token); }

#if defined(__riscv)

/// Calls with everything that a caller gone wrong may have in its registers. The call returns to here.
void call_wildly(std::uint64_t key, std::uint64_t entry, bool has_wild_stack) {
  const std::uint64_t stack = has_wild_stack ? mix(key + 1) & 0x3fffffffff : 0;
  asm volatile(
      "mv s2, sp\n\t"
      "mv s3, gp\n\t"
      "mv s4, tp\n\t"
      "mv a7, %[entry]\n\t"
      "mv a0, %[key]\n\t"
      "srli a1, a0, 7\n\t"
      "srli a2, a0, 23\n\t"
      "srli a3, a0, 9\n\t"
      "mv a4, sp\n\t"
      "mv gp, a0\n\t"
      "mv tp, a1\n\t"
      "beqz %[stack], 1f\n\t"
      "mv sp, %[stack]\n"
      "1:\n\t"
      ".insn i 0x0b, 5, ra, x0, 0\n\t"
      "mv sp, s2\n\t"
      "mv gp, s3\n\t"
      "mv tp, s4"
      :
      : [entry] "r"(entry), [key] "r"(key), [stack] "r"(stack)
      : "ra", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "s2",
        "s3", "s4", "memory");
}

#endif

}  // namespace

#if defined(__riscv)

void wild_capsules(std::uint64_t key) {
  const auto begin = reinterpret_cast<std::uint64_t>(rubato_capsules_begin);
  const auto bytes = reinterpret_cast<std::uint64_t>(rubato_capsules_end) - begin;
  for (unsigned i = 0; i < 1 + key % 24; ++i) {
    const std::uint64_t wild = mix(key + i);
    const std::uint64_t near = wild >> 8;
    switch (wild % 14) {
      case 0:
        call_wildly(near, begin + near % bytes, false);
        break;
      case 1:
        call_wildly(near, begin + near % 24 * 8, wild % 5 == 0);
        break;
      case 2:
        call_wildly(near, near, false);
        break;
      case 3:
        ledger_enter(near % (kAccounts * 2), wild);
        break;
      case 4:
        ledger_split(near % kAccounts, wild, reinterpret_cast<std::uint64_t*>(&*ledger));
        break;
      case 5:
        ledger_split(near % kAccounts, wild, reinterpret_cast<std::uint64_t*>(wild & 0x3ffffffff8));
        break;
      case 6: {  // the capsule's own frame
        std::uint64_t here = 0;
        ledger_split(near % kAccounts, wild, &here - 4 - near % 8);
        break;
      }
      case 7:
        static_cast<void>(ledger_take_token());
        ledger_put_token(near % (kTokens * 2));
        break;
      case 8:
        reinterpret_cast<volatile std::uint64_t*>(&*ledger)[near % (sizeof(Ledger) / 8)] = wild;
        break;
      case 9:
        reinterpret_cast<void (*)()>(begin + near % bytes / 2 * 2)();
        break;
      case 10:
        asm volatile(".insn i 0x0b, 6, x0, x0, 0");  // capsule.return
        break;
      case 11:
        ledger_split(near % kAccounts, wild, reinterpret_cast<std::uint64_t*>(begin + near % bytes / 8 * 8));
        break;
      case 12:
        ledger_split_slowly(near % kAccounts, wild, reinterpret_cast<std::uint64_t*>(wild & 0x3ffffffff8),
                            near % 12'000);
        break;
      default:
        capsule::on_abort(take_back, near % kAccounts, wild);
    }
  }
}

#else

void wild_capsules(std::uint64_t) {}

#endif

void use_ledger(Random& random, const Reach& reach, std::uint64_t& seen) {
  const std::uint64_t account =
      reach.everything ? random.below(kSharedAccounts) : kSharedAccounts + reach.locale;
  const std::uint64_t amount = seen ^ random.next();
  std::uint64_t& entered = reach.everything ? memory.entered[account] : memory.owned_entered[reach.locale];
  std::uint64_t& split = reach.everything ? memory.split[account] : memory.owned_split[reach.locale];
  if (options.pauses && random.one_in(2)) {
    ledger_split_slowly(account, amount, &split, 50 + random.below(2000));
    entered += amount;
    return;
  }
  switch (random.below(8)) {
    case 0:
      entered += amount;
      return ledger_enter_for_good(account, amount);
    case 1:
      return ledger_borrow();
    case 2: {
      const std::uint64_t token = ledger_take_token();
      if (token != 0) rubato::create<rubato::nonspec>(put_back, {}, token);
      return;
    }
    case 3:
    case 4: {
      ledger_split(account, amount, &split);
      entered += amount;
      return;
    }
    default:
      break;
  }
  ledger_enter(account, amount);
  entered += amount;
}

bool is_ledger_right() {
  bool is_right = true;
  for (std::uint64_t a = 0; a < kAccounts; ++a) {
    const std::uint64_t entered =
        a < kSharedAccounts ? memory.entered[a] : memory.owned_entered[a - kSharedAccounts];
    if (ledger->accounts[a] == entered && ledger->swapped[a] == entered) continue;
    std::printf("account %u holds %llx and %llx, committed tasks entered %llx\n", static_cast<unsigned>(a),
                static_cast<unsigned long long>(ledger->accounts[a]),
                static_cast<unsigned long long>(ledger->swapped[a]),
                static_cast<unsigned long long>(entered));
    is_right = false;
  }
  std::uint64_t seen = 0;
  for (std::uint32_t i = 0; i < ledger->free_count; ++i) seen |= std::uint64_t{1} << ledger->free_tokens[i];
  if (ledger->free_count != ledger->cut || __builtin_popcountll(seen) != static_cast<int>(ledger->cut)) {
    std::printf("%u tokens of %u are free, %d of them different\n", ledger->free_count, ledger->cut,
                __builtin_popcountll(seen));
    is_right = false;
  }
  return is_right;
}

}  // namespace random_tasks
