// Checkpoints: a program is fast-forwarded once, up to where it would depend on the chip or to the region of
// interest, and goes on from there. Its run until then must not depend on anything that may differ later. So
// the file names everything that it may have depended on.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "chip/alloc/allocation_checkpoint.hpp"
#include "chip/chip_impl.hpp"
#include "chip/isa/disassemble.hpp"
#include "chip/memory/checkpoint_file.hpp"
#include "chip/program/warm_log.hpp"
#include "chip/session/run_directory.hpp"

namespace rubato::chip {
namespace {

using Circumstances = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kCores = "chip.cores", kAnyNumber = "any";

/// All that a program in fast-forward may depend on; `cores`: it has asked for their number. The seed is none
/// of it: the random bytes that the program was given are a part of its state.
Circumstances circumstances(const Config& config, const ProcessOptions& options, bool cores) {
  return {{"program", sha256_hex(read_file(options.program))},
          {"arguments", fmt::format("{}", options.arguments)},
          {"environment", fmt::format("{}", options.environment)},
          {"argv0", options.name()},
          {"sandbox", options.sandbox},
          {std::string(kCores), cores ? fmt::format("{}", config.chip.cores) : std::string(kAnyNumber)},
          {"run.roi", config.run.roi},
          {"run.quantum", fmt::format("{}", config.run.quantum)},
          {"run.start_date", fmt::format("{}", config.run.start_date)},
          {"run.stack_bytes", fmt::format("{}", config.run.stack_bytes)},
          {"run.memory_bytes", fmt::format("{}", config.run.memory_bytes)},
          {"run.address_bits", fmt::format("{}", config.run.address_bits)},
          {"task.capsules", fmt::format("{}", config.task.capsules)}};
}

/// @throws UsageError if what the file says of itself is not what this run has.
void check_circumstances(CheckpointReader& reader, const Config& config, const ProcessOptions& options) {
  const std::string file = reader.path().string();
  const Circumstances here = circumstances(config, options, true);
  const std::uint64_t count = reader.number();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string name = reader.text(), value = reader.text();
    if (i >= here.size() || here[i].first != name)
      throw UsageError("{}: not a checkpoint of this version of rubato-chip", file);
    if (here[i].second == value || (name == kCores && value == kAnyNumber)) continue;
    if (name == "program")
      throw UsageError("{}: the checkpoint is of another program than {}", file, options.program);
    if (name == kCores)
      throw UsageError(
          "{}: the program has asked for its cores and was told {}, this run has {}: take a checkpoint for "
          "each number of cores",
          file, value, here[i].second);
    throw UsageError("{}: the checkpoint was taken with {} {}, this run has {}", file, name, value,
                     here[i].second);
  }
}

enum class Dependence : std::uint8_t { none, cores, chip };

/// Knowledge of the chip that a task instruction outside of tasks needs. Instructions of capsules and most
/// reads need nothing: the core that they are on is in no task.
Dependence dependence_of(const isa::Insn& insn) {
  switch (insn.op) {
    case isa::Op::capsule_call:
    case isa::Op::capsule_vector:
    case isa::Op::capsule_return:
    case isa::Op::capsule_on_abort:
      return Dependence::none;
    case isa::Op::task_read: {
      const auto selector = static_cast<isa::ReadSelector>(insn.imm);
      if (selector == isa::ReadSelector::cores) return Dependence::cores;
      return selector == isa::ReadSelector::workers ? Dependence::chip : Dependence::none;
    }
    default:
      return Dependence::chip;
  }
}

/// The user has named the region of interest: the checkpoint is taken there, with the threads that the
/// program has by then. Else it serves every chip, and is taken where that ends.
bool goes_to_region(const Program& program) {
  return program.detail_at_markers || (program.roi && !program.place.roi.empty());
}

/// Fast-forwards `program` to where its checkpoint is taken. `perform` executes a task instruction; false:
/// the program must not do that. `asked` is set if an instruction has asked for the number of cores.
template <class Perform>
FastForward::Result run_ahead(Program& program, bool& asked, Perform perform) {
  const bool is_to_region = goes_to_region(program);
  program.process.keep_output();
  program.fast_forward.stop_at_marks(!is_to_region);
  while (true) {
    const FastForward::Result at = program.fast_forward.run(program.roi, FastForward::kAtOnce);
    if (at.stop == FastForward::Stop::task_instruction) {
      const Dependence dependence = dependence_of(at.insn);
      if (dependence == Dependence::chip || (dependence == Dependence::cores && !is_to_region)) return at;
      asked |= dependence == Dependence::cores;
      if (!perform(at)) return at;
    } else if (at.stop != FastForward::Stop::budget) {
      return at;
    }
  }
}

void check_possible(const Config& config) {
  if (!config.run.fast_forward)
    throw UsageError(
        "checkpoints are of programs in fast-forward; leave out run.fast_forward=false (--no-ff)");
  if (config.run.alloc == "ideal")
    throw UsageError("the ideal allocator (run.alloc) has a pool for each core, which no checkpoint holds");
}

/// The next step of the thread of `at`, where the program was stopped for its checkpoint.
/// @throws UsageError if there is nothing to begin from.
std::string why_taken_at(const Program& program, const FastForward::Result& at) {
  switch (at.stop) {
    case FastForward::Stop::stop_pc:
      return "the region of interest";
    case FastForward::Stop::task_instruction:
      return fmt::format("the task instruction {}", isa::disassemble(at.insn, at.thread->regs.pc));
    case FastForward::Stop::chip_call:
      return program.process.chip_call(*at.thread) == Process::ChipCall::marks
                 ? "the mark of a region"
                 : "a system call that depends on the chip, or starts a thread, a process or a program";
    case FastForward::Stop::exited:
      throw UsageError("the program ended before {}: there is nothing to begin from",
                       goes_to_region(program) ? "its region of interest (run.roi)"
                                               : "anything in it depended on the chip");
    default:
      throw UsageError(
          "the program faulted or waited for ever before the checkpoint: run it without --checkpoint");
  }
}

}  // namespace

CheckpointReport Chip::save_checkpoint(const std::filesystem::path& file, const ProcessOptions& options) {
  Impl& chip = *impl_;
  Program& program = chip.programs.sole();
  check_possible(chip.config);
  CheckpointWriter writer(file);
  if (!program.allocations) program.watch_allocations();  // another chip may want the names of blocks
  WarmLog log(program.process.main_thread().tid);
  if (chip.config.run.warm) program.fast_forward.observe(&log);
  bool asked = false;
  const FastForward::Result at = run_ahead(program, asked, [&](const FastForward::Result& of) {
    chip.task_instruction(program, *of.thread, of.insn);
    return !chip.outcome;
  });
  asked |= program.fast_forward.has_asked_for_cores();
  if (chip.outcome)
    throw UsageError("the program is wrong before the checkpoint: {}", chip.outcome->sentence);

  CheckpointReport report;
  report.why = why_taken_at(program, at);
  if (at.stop != FastForward::Stop::stop_pc) program.fast_forward.take_back(*at.thread);
  const Circumstances all = circumstances(chip.config, options, asked);
  writer.number(all.size());
  for (const auto& [name, value] : all) {
    writer.text(name);
    writer.text(value);
  }
  program.process.save(writer);
  program.fast_forward.save(writer);
  writer.number(program.capsule_vector.begin());
  writer.number(program.capsule_vector.bytes());
  save_allocations(writer, program.allocations->saved());
  writer.number(chip.config.run.warm ? 1 : 0);
  save_uses(writer, log.uses());
  report.file_bytes = writer.close();
  report.instructions = program.fast_forward.instructions();
  report.guest_bytes = program.memory.mapped_bytes();
  report.where = program.process.symbols().describe(at.thread->regs.pc);
  const auto& threads = program.process.threads();
  report.threads = static_cast<std::uint64_t>(std::count_if(
      threads.begin(), threads.end(), [](const auto& t) { return t->state != ThreadState::exited; }));
  if (asked) report.cores = chip.config.chip.cores;
  return report;
}

void Chip::restore_checkpoint(const std::filesystem::path& file, const ProcessOptions& options) {
  Impl& chip = *impl_;
  Program& program = chip.programs.sole();
  check_possible(chip.config);
  CheckpointReader reader(file);
  check_circumstances(reader, chip.config, options);
  program.process.restore(reader);
  program.fast_forward.restore(reader);
  const Addr vector = reader.number();
  const std::uint64_t vector_bytes = reader.number();
  if (vector_bytes != 0 && !program.capsule_vector.set(vector, vector_bytes).empty()) reader.refuse_damaged();
  AllocationSites::Saved allocated = read_allocations(reader);
  const bool is_warm = reader.number() != 0;
  const std::vector<WarmLog::Use> uses = read_uses(reader, program.process.threads().size());
  if (chip.config.run.warm && !is_warm)
    throw UsageError("{}: the checkpoint was taken without run.warm (--warm), which this run has",
                     file.string());
  program.memory.code_changed();
  program.blocks.flush();
  if (program.allocations) program.allocations->restore(std::move(allocated));
  if (chip.config.run.warm) warm(*chip.hierarchy, program, uses);
}

}  // namespace rubato::chip
