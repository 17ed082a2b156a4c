// Decoded basic blocks (C5): every instruction is decoded once. A block starts at any pc. It ends behind
// a branch, jump, system or task instruction, before the stop pc or a host call, or where the next
// instruction would start in another 64-byte line. A timing model therefore probes the instruction cache
// exactly once a block. (An instruction that straddles two lines belongs to the block in which it starts.)
//
// Blocks link to their successors: after the first time, going from block to block is one load. Blocks are
// never freed one by one; flush() drops all of them and counts generation(): a holder of a Block* compares it
// first.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "chip/isa/hart_state.hpp"
#include "chip/isa/insn.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip::isa {

/// A block, followed in memory by its instructions: `count` of the guest's and, if the last of them does not
/// end a block, the pseudo-instruction block_end. A fetch_fault counts as one, `stop` and `host_call` (alone
/// in their blocks) as none. A noted block has the pseudo-instruction `note` before its instructions, which
/// does not count either.
struct alignas(16) Block {
  Addr pc;              ///< of the first instruction
  std::uint16_t count;  ///< instructions of the guest
  bool has_float;  ///< any of them computes in floating point, or writes its registers, or uses its flags
  bool is_noted;
  std::uint32_t bytes;  ///< from pc to the instruction behind
  Block* taken;         ///< where the jump or branch went last, or null
  Block* next;          ///< the block behind, or null: not needed yet

  const Insn* insns() const { return reinterpret_cast<const Insn*>(this + 1); }
  /// The first instruction of the guest.
  const Insn* first() const { return insns() + (is_noted ? 1 : 0); }
};

/// Sees harts at chosen pcs; see BlockCache::set_notes.
class NoteObserver {
 public:
  virtual ~NoteObserver() = default;
  /// `hart` goes on at `pc`, not at its own pc. It may be shown twice at one place. Registers x with a bit in
  /// `awaited` have no value yet.
  virtual void on_note(Addr pc, const HartState& hart, std::uint32_t awaited) = 0;
};

class BlockCache {
 public:
  static constexpr unsigned kMaxInsns = kLineBytes / 2;

  explicit BlockCache(const AddressSpace& memory);

  /// The block at pc. Always succeeds: what cannot be fetched is a block whose instruction faults.
  Block* find(Addr pc) {
    for (std::size_t i = slot(pc);; i = (i + 1) & (table_.size() - 1)) {
      if (table_[i].pc == pc) return table_[i].block;
      if (table_[i].block == nullptr) return decode_block(pc);
    }
  }
  /// The same, remembered in the block that leads there.
  Block* find_taken(Block& from, Addr target) {
    if (from.taken == nullptr || from.taken->pc != target) from.taken = find(target);
    return from.taken;
  }
  Block* find_next(Block& from) {
    if (from.next == nullptr) from.next = find(from.pc + from.bytes);
    return from.next;
  }

  /// Blocks end before this pc, and the block there is the pseudo-instruction `stop`. Flushes if that
  /// changes.
  void set_stop(std::optional<Addr> pc);
  std::optional<Addr> stop() const { return stop_ == kNoStop ? std::nullopt : std::optional(stop_); }
  /// Functions that the simulator serves, entry pc -> number: the block there is the pseudo-instruction
  /// host_call with that number, which waits for a0, a1, a2 and ra like an instruction that reads them.
  /// Flushes.
  void set_host_calls(std::map<Addr, std::int32_t> entries);
  /// `observer`, which outlives this, sees each hart that begins a block at one of these pcs. Blocks end
  /// where they would without it, and executing takes no more simulated time: a pc inside a block is not
  /// seen. Also noted is the place behind each direct call of one of `functions`, when the call is decoded,
  /// unless a block begins there by then. Flushes.
  void set_notes(std::unordered_set<Addr> pcs, NoteObserver& observer,
                 std::unordered_set<Addr> functions = {});
  /// Notes a further pc. Flushes.
  void add_note(Addr pc);
  /// The places that are noted.
  const std::unordered_set<Addr>& notes() const { return notes_; }
  /// `hart` is at the note of the block at `pc`. @returns false if blocks have been flushed since.
  bool show_note(Addr pc, const HartState& hart, std::uint32_t awaited) {
    const std::uint64_t before = generation_;
    note_observer_->on_note(pc, hart, awaited);
    return generation_ == before;
  }
  /// Forgets all blocks: fence.i.
  void flush();
  /// Flushes if executable mappings have changed since the last call: call it after system calls.
  void synchronize() {
    if (code_generation_ != memory_.code_generation()) flush();
  }
  /// Counts flushes. Pointers to blocks from an older generation are dangling.
  std::uint64_t generation() const { return generation_; }
  std::size_t size() const { return size_; }

 private:
  struct Entry {
    Addr pc = ~Addr{0};  // of no block: every pc is even
    Block* block = nullptr;
  };
  static constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
  static constexpr Addr kNoStop = ~Addr{0};

  std::size_t slot(Addr pc) const { return ((pc >> 1) * 0x9e3779b97f4a7c15ULL) >> shift_; }
  Block* decode_block(Addr pc);
  bool has_block(Addr pc) const;
  /// `last`, at `pc`, ends a block.
  void note_return(const Insn& last, Addr pc);
  bool fetchable(Addr a) const { return memory_.attributes(a) & Page::kExecute; }
  std::byte* allocate(std::size_t bytes);
  void insert(Block* block);

  const AddressSpace& memory_;
  std::vector<Entry> table_;  // open addressing, at most half full, power of two
  unsigned shift_ = 0;        // 64 - log2(table_.size())
  std::size_t size_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;  // kept by flush()
  std::size_t chunk_ = 0, used_ = 0;                  // filled: chunks before chunk_, and used_ bytes of it
  Addr stop_ = kNoStop;
  std::map<Addr, std::int32_t> host_calls_;
  std::unordered_set<Addr> notes_, noted_functions_;
  NoteObserver* note_observer_ = nullptr;
  std::uint64_t generation_ = 0, code_generation_ = 0;
};

}  // namespace rubato::chip::isa
