// Random transactions (T52). A transaction is a seed: the same code runs it on the library, by hand-made
// calls, and on a model, and both must load the same values.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "base/rng.hpp"

namespace tm_random {

constexpr int kPartitions = 3;
constexpr std::size_t kBytes = 160;  ///< of a partition that are stored to at random: five stripes

/// Memory that always holds two halves of one value.
struct Node {
  std::uint64_t value, inverse;
};

struct Partition {
  std::uint64_t ticket = 0;  ///< counts the updates: their order
  std::uint64_t left = 0, right = ~std::uint64_t{0};
  Node* node = nullptr;
  alignas(32) std::array<unsigned char, kBytes> bytes{};
};

using Memory = std::array<Partition, kPartitions>;

/// Report of a committed transaction about itself.
struct Record {
  std::uint64_t seed = 0;
  std::uint64_t loads = 0;  ///< a hash of all that it loaded
  std::array<std::uint64_t, kPartitions> tickets{};
  bool is_cancelled = false;
};

/// Properties of the transaction with this seed, before its accesses.
struct Plan {
  std::uint64_t seed;
  unsigned partitions;  ///< a set of bits
  bool is_update, is_irrevocable, is_cancelled;
  explicit Plan(std::uint64_t s) : seed(s) {
    rubato::Rng rng(s);
    partitions = 1 + static_cast<unsigned>(rng.below((1 << kPartitions) - 1));
    is_update = rng.below(4) != 0;
    is_irrevocable = rng.below(24) == 0;
    is_cancelled = !is_irrevocable && rng.below(10) == 0;
  }
};

/// Runs a transaction's accesses. `Access` has load<T>, store<T>, copy, fill, replace_node, read_node and,
/// for nested transactions, nested(run, is_cancelled).
template <class Access>
class Interpreter {
 public:
  Interpreter(Access& access, Memory& memory, const Plan& plan)
      : access_(access), memory_(memory), plan_(plan) {}

  void run(Record& record) {
    state_ = plan_.seed;
    for (int p = 0; p < kPartitions; ++p) {
      if ((plan_.partitions >> p & 1) != 0 && plan_.seed % 2 == 0) take_ticket(p, record);
    }
    block(plan_.seed + 1, 0);
    for (int p = 0; p < kPartitions; ++p) {
      if ((plan_.partitions >> p & 1) != 0 && plan_.seed % 2 != 0) take_ticket(p, record);
    }
    record.loads = state_;
  }

 private:
  void mix(std::uint64_t value) { state_ = (state_ ^ value) * 0x9e3779b97f4a7c15u + 1; }

  void take_ticket(int p, Record& record) {
    std::uint64_t ticket = access_.template load<std::uint64_t>(&memory_[p].ticket);
    if (plan_.is_update) access_.template store<std::uint64_t>(&memory_[p].ticket, ++ticket);
    record.tickets[p] = ticket;
  }

  template <class T>
  void load(Partition& partition, std::size_t at) {
    mix(access_.template load<T>(&partition.bytes[at % (kBytes - sizeof(T) + 1)]));
  }
  template <class T>
  void store(Partition& partition, std::size_t at) {
    access_.template store<T>(&partition.bytes[at % (kBytes - sizeof(T) + 1)], static_cast<T>(state_ >> 7));
  }

  void block(std::uint64_t seed, int depth) {
    rubato::Rng rng(seed);
    for (std::uint64_t left = 1 + rng.below(10); left > 0; --left) {
      int p = static_cast<int>(rng.below(kPartitions));
      while ((plan_.partitions >> p & 1) == 0) p = (p + 1) % kPartitions;
      step(memory_[p], rng.below(plan_.is_update ? 16 : 7), rng.below(1 << 20), rng.below(1 << 20), depth);
    }
  }

  void step(Partition& partition, std::uint64_t what, std::size_t a, std::size_t b, int depth) {
    switch (what) {
      case 0:
        load<std::uint8_t>(partition, a);
        break;
      case 1:
        load<std::uint16_t>(partition, a);
        break;
      case 2:
        load<std::uint32_t>(partition, a);
        break;
      case 3:
        load<std::uint64_t>(partition, a);
        break;
      case 4: {
        const auto left = access_.template load<std::uint64_t>(&partition.left);
        const auto right = access_.template load<std::uint64_t>(&partition.right);
        access_.require(left == ~right);  // also in attempts that are undone later (T39)
        mix(left);
        break;
      }
      case 5:
        mix(access_.read_node(&partition.node));
        break;
      case 6:
        nested(a, depth);
        break;
      case 7:
        store<std::uint8_t>(partition, a);
        break;
      case 8:
        store<std::uint16_t>(partition, a);
        break;
      case 9:
        store<std::uint32_t>(partition, a);
        break;
      case 10:
        store<std::uint64_t>(partition, a);
        break;
      case 11:
        access_.template store<std::uint64_t>(&partition.left, state_);
        access_.template store<std::uint64_t>(&partition.right, ~state_);
        break;
      case 12:
        access_.copy(&partition.bytes[a % (kBytes / 2)], &partition.bytes[b % (kBytes / 2)],
                     b % (kBytes / 2));
        break;
      case 13:
        access_.fill(&partition.bytes[a % (kBytes / 2)], static_cast<int>(state_ & 0x7f), b % (kBytes / 2));
        break;
      case 14:
        access_.replace_node(&partition.node, state_);
        break;
      case 15:
        nested(a, depth);
        break;
    }
  }

  void nested(std::size_t seed, int depth) {
    if (depth == 3) return;
    const std::uint64_t before = state_;
    const bool is_cancelled = !plan_.is_irrevocable && seed % 3 == 0;
    access_.nested([this, seed, depth] { block(plan_.seed + seed, depth + 1); }, is_cancelled);
    if (is_cancelled) state_ = before;
  }

  Access& access_;
  Memory& memory_;
  const Plan plan_;
  std::uint64_t state_ = 0;
};

}  // namespace tm_random
