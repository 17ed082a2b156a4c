// Decoding of basic blocks into an append-only arena, and the table that finds them by pc.
// SPDX-License-Identifier: MIT
#include "chip/isa/block_cache.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "chip/isa/decode.hpp"

namespace rubato::chip::isa {
namespace {

constexpr std::size_t kFirstTable = 4096;

Insn pseudo(Op op, std::int32_t imm = 0) {
  Insn insn;
  insn.op = op;
  insn.imm = imm;
  insn.length = 0;
  insn.flags = Insn::kEndsBlock;
  return insn;
}

}  // namespace

BlockCache::BlockCache(const AddressSpace& memory) : memory_(memory) { flush(); }

void BlockCache::set_stop(std::optional<Addr> pc) {
  if (stop_ == pc.value_or(kNoStop)) return;
  if (pc == stop()) return;
  stop_ = pc.value_or(kNoStop);
  flush();
}

void BlockCache::set_host_calls(std::map<Addr, std::int32_t> entries) {
  host_calls_ = std::move(entries);
  flush();
}

void BlockCache::set_notes(std::unordered_set<Addr> pcs, NoteObserver& observer,
                           std::unordered_set<Addr> functions) {
  notes_ = std::move(pcs);
  noted_functions_ = std::move(functions);
  note_observer_ = &observer;
  flush();
}

void BlockCache::add_note(Addr pc) {
  notes_.insert(pc);
  flush();
}

void BlockCache::flush() {
  table_.assign(std::max(table_.size(), kFirstTable), Entry{});
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(table_.size()));
  size_ = chunk_ = used_ = 0;
  code_generation_ = memory_.code_generation();
  ++generation_;
}

Block* BlockCache::decode_block(Addr pc) {
  std::array<Insn, kMaxInsns + 2> insns;  // a note and block_end besides
  unsigned count = 0;
  Addr at = pc;
  const Addr line_end = (pc | (kLineBytes - 1)) + 1;
  const auto append = [&](Insn insn) {
    insn.offset = static_cast<std::uint8_t>(at - pc);
    insns[count++] = insn;
    at += insn.length;
    return insn.ends_block();
  };
  // The instruction that the guest could execute here, or the fault of fetching its first or second half.
  const auto fetch = [&]() -> Insn {
    if ((at & 1) != 0 || !fetchable(at)) return pseudo(Op::fetch_fault, 0);
    std::uint32_t word = memory_.load<std::uint16_t>(at);
    if (is_long(word)) {
      if (!fetchable(at + 2)) return pseudo(Op::fetch_fault, 2);
      word |= std::uint32_t{memory_.load<std::uint16_t>(at + 2)} << 16;
    }
    return decode(word);
  };

  const auto host_call_at = [this](Addr a) {
    const auto call = host_calls_.find(a);
    return call == host_calls_.end() ? nullptr : &*call;
  };

  const bool is_noted = !notes_.empty() && notes_.contains(pc) && pc != stop_ &&
                        host_call_at(pc) == nullptr && fetchable(pc) && fetchable(pc + 2);
  if (is_noted) {
    Insn note = pseudo(Op::note);
    note.flags = 0;
    append(note);
  }
  bool ended = false;
  while (!ended && at < line_end && at != stop_ && host_call_at(at) == nullptr) ended = append(fetch());
  const unsigned guest_instructions = count - (is_noted ? 1 : 0);
  if (ended && !noted_functions_.empty()) note_return(insns[count - 1], at - insns[count - 1].length);
  if (count != 0) {
    if (!ended) append(pseudo(Op::block_end));
  } else if (at == stop_) {
    append(pseudo(Op::stop));
  } else {
    Insn call = pseudo(Op::host_call, host_call_at(at)->second);
    call.rs1 = reg::a0;
    call.rs2 = reg::a1;
    call.rs3 = reg::a2;
    call.rd = reg::ra;
    append(call);
  }

  const bool has_float = std::any_of(insns.begin(), insns.begin() + count,
                                     [](const Insn& i) { return i.is_float() || i.writes_float(); });
  auto* block = new (allocate(sizeof(Block) + count * sizeof(Insn)))
      Block{pc,
            static_cast<std::uint16_t>(guest_instructions),
            has_float,
            is_noted,
            static_cast<std::uint32_t>(at - pc),
            nullptr,
            nullptr};
  std::memcpy(static_cast<void*>(block + 1), insns.data(), count * sizeof(Insn));
  insert(block);
  return block;
}

bool BlockCache::has_block(Addr pc) const {
  std::size_t i = slot(pc);
  while (table_[i].block != nullptr && table_[i].pc != pc) i = (i + 1) & (table_.size() - 1);
  return table_[i].block != nullptr;
}

// A call to a far function is a pair of auipc and jalr, which may begin in the line before.
void BlockCache::note_return(const Insn& last, Addr pc) {
  const auto signed_of = [](std::int32_t imm) { return static_cast<Addr>(std::int64_t{imm}); };
  if (last.rd != reg::ra) return;
  Addr target = pc + signed_of(last.imm);
  if (last.op == Op::jalr) {
    if (pc < 4 || !fetchable(pc - 4) || !fetchable(pc - 2)) return;
    const Insn before = decode(memory_.load<std::uint32_t>(pc - 4));
    if (before.op != Op::auipc || before.rd != last.rs1) return;
    target += signed_of(before.imm) - 4;
  } else if (last.op != Op::jal) {
    return;
  }
  const Addr behind = pc + last.length;
  if (noted_functions_.contains(target) && !has_block(behind)) notes_.insert(behind);
}

std::byte* BlockCache::allocate(std::size_t bytes) {
  if (chunk_ < chunks_.size() && used_ + bytes > kChunkBytes) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) chunks_.push_back(std::make_unique<std::byte[]>(kChunkBytes));
  std::byte* place = chunks_[chunk_].get() + used_;
  used_ += bytes;
  return place;
}

void BlockCache::insert(Block* block) {
  const auto place = [this](Entry entry) {
    std::size_t i = slot(entry.pc);
    while (table_[i].block != nullptr) i = (i + 1) & (table_.size() - 1);
    table_[i] = entry;
  };
  if (2 * (size_ + 1) > table_.size()) {
    std::vector<Entry> old(table_.size() * 2);
    old.swap(table_);
    --shift_;
    for (const Entry& entry : old)
      if (entry.block != nullptr) place(entry);
  }
  place({block->pc, block});
  ++size_;
}

}  // namespace rubato::chip::isa
