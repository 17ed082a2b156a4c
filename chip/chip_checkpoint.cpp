// Checkpoints: a program is fast-forwarded once, up to where it would depend on the chip, and goes on from
// there on any chip. Its run until then must not depend on anything that may differ later. So the file names
// everything that it may have depended on.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "chip/chip_impl.hpp"
#include "chip/isa/disassemble.hpp"
#include "chip/memory/checkpoint_file.hpp"
#include "chip/session/run_directory.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kInstructionsAtOnce = 1 << 24;

using Circumstances = std::vector<std::pair<std::string, std::string>>;

/// All that a program in fast-forward may depend on.
Circumstances circumstances(const Config& config, const ProcessOptions& options) {
  return {{"program", sha256_hex(read_file(options.program))},
          {"arguments", fmt::format("{}", options.arguments)},
          {"environment", fmt::format("{}", options.environment)},
          {"argv0", options.name()},
          {"sandbox", options.sandbox},
          {"chip.seed", fmt::format("{}", config.chip.seed)},
          {"run.roi", config.run.roi},
          {"run.quantum", fmt::format("{}", config.run.quantum)},
          {"run.stack_bytes", fmt::format("{}", config.run.stack_bytes)},
          {"run.memory_bytes", fmt::format("{}", config.run.memory_bytes)},
          {"run.address_bits", fmt::format("{}", config.run.address_bits)},
          {"task.capsules", fmt::format("{}", config.task.capsules)}};
}

/// Instructions of capsules, and reads that task.capsules answers.
bool is_for_any_chip(const isa::Insn& insn) {
  switch (insn.op) {
    case isa::Op::capsule_call:
    case isa::Op::capsule_vector:
    case isa::Op::capsule_return:
    case isa::Op::capsule_on_abort:
      return true;
    case isa::Op::task_read: {
      const auto selector = static_cast<isa::ReadSelector>(insn.imm);
      return selector == isa::ReadSelector::has_capsules || selector == isa::ReadSelector::capsule_depth;
    }
    default:
      return false;
  }
}

void check_possible(const Config& config) {
  if (!config.run.fast_forward)
    throw UsageError(
        "checkpoints are of programs in fast-forward; leave out run.fast_forward=false (--no-ff)");
  if (config.run.warm) throw UsageError("a checkpoint holds no caches; leave out run.warm (--warm)");
  if (config.run.alloc == "ideal")
    throw UsageError("the ideal allocator (run.alloc) has a pool for each core, which no checkpoint holds");
}

}  // namespace

CheckpointReport Chip::save_checkpoint(const std::filesystem::path& file, const ProcessOptions& options) {
  Impl& chip = *impl_;
  Program& program = chip.programs.sole();
  check_possible(chip.config);
  CheckpointWriter writer(file);
  program.process.keep_output();
  program.fast_forward.stop_at_chip_calls();
  FastForward::Result at;
  do {
    at = program.fast_forward.run(program.roi, kInstructionsAtOnce);
    if (at.stop == FastForward::Stop::task_instruction && is_for_any_chip(at.insn))
      chip.task_instruction(program, *at.thread, at.insn), at.stop = FastForward::Stop::budget;
  } while (at.stop == FastForward::Stop::budget && !chip.outcome);
  if (chip.outcome)
    throw UsageError("the program is wrong before the checkpoint: {}", chip.outcome->sentence);

  CheckpointReport report;
  switch (at.stop) {
    case FastForward::Stop::stop_pc:
      report.why = "the region of interest";
      break;
    case FastForward::Stop::task_instruction:
      report.why = fmt::format("the task instruction {}", isa::disassemble(at.insn, at.thread->regs.pc));
      program.fast_forward.take_back(*at.thread);
      break;
    case FastForward::Stop::chip_call:
      report.why = "a system call that depends on the chip, or starts a thread, a process or a program";
      program.fast_forward.take_back(*at.thread);
      break;
    case FastForward::Stop::exited:
      throw UsageError(
          "the program ended before anything in it depended on the chip: there is nothing to begin from");
    default:
      throw UsageError(
          "the program faulted or waited for ever before the checkpoint: run it without --checkpoint");
  }
  const Circumstances all = circumstances(chip.config, options);
  writer.number(all.size());
  for (const auto& [name, value] : all) {
    writer.text(name);
    writer.text(value);
  }
  program.process.save(writer);
  program.fast_forward.save(writer);
  writer.number(program.capsule_vector.begin());
  writer.number(program.capsule_vector.bytes());
  report.file_bytes = writer.close();
  report.instructions = program.fast_forward.instructions();
  report.guest_bytes = program.memory.mapped_bytes();
  report.where = program.process.symbols().describe(at.thread->regs.pc);
  return report;
}

void Chip::restore_checkpoint(const std::filesystem::path& file, const ProcessOptions& options) {
  Impl& chip = *impl_;
  Program& program = chip.programs.sole();
  check_possible(chip.config);
  CheckpointReader reader(file);
  const Circumstances here = circumstances(chip.config, options);
  const std::uint64_t count = reader.number();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string name = reader.text(), value = reader.text();
    if (i >= here.size() || here[i].first != name)
      throw UsageError("{}: not a checkpoint of this version of rubato-chip", file.string());
    if (here[i].second == value) continue;
    if (name == "program")
      throw UsageError("{}: the checkpoint is of another program than {}", file.string(), options.program);
    throw UsageError("{}: the checkpoint was taken with {} {}, this run has {}", file.string(), name, value,
                     here[i].second);
  }
  program.process.restore(reader);
  program.fast_forward.restore(reader);
  const Addr vector = reader.number();
  const std::uint64_t vector_bytes = reader.number();
  if (vector_bytes != 0 && !program.capsule_vector.set(vector, vector_bytes).empty())
    throw UsageError("{}: the checkpoint is damaged", file.string());
  program.memory.code_changed();
  program.blocks.flush();
}

}  // namespace rubato::chip
