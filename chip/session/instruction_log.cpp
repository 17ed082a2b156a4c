// SPDX-License-Identifier: MIT
#include "chip/session/instruction_log.hpp"

#include <utility>

namespace rubato::chip {

InstructionLog::InstructionLog(Options options, std::string what, std::string_view head)
    : file_(std::move(options.file), std::move(what)),
      occupants_(options.cores),
      symbol_(std::move(options.symbol)) {
  file_.append(head);
}

const std::string& InstructionLog::name_of(Addr address) {
  const auto [it, is_new] = names_.try_emplace(address);
  if (is_new) it->second = symbol_(address);
  return it->second;
}

}  // namespace rubato::chip
