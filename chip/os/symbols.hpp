// Names of guest addresses, from the program's symbol table; empty for stripped programs.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chip/types.hpp"

namespace rubato::chip {

class Symbols {
 public:
  struct Symbol {
    Addr address;
    std::uint64_t size;
    std::string name;  ///< demangled
    std::string raw;   ///< as in the file
    bool is_function;
  };
  Symbols() = default;
  explicit Symbols(std::vector<Symbol> symbols);

  /// Address of a symbol by its raw or demangled name.
  std::optional<Addr> find(std::string_view name) const;
  /// The symbol that covers `a`, or null.
  const Symbol* at(Addr a) const;
  /// "name+0x12" or "0x1234".
  std::string describe(Addr a) const;

 private:
  std::vector<Symbol> symbols_;  // by address
};

}  // namespace rubato::chip
