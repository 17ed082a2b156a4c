// The requests of rubato-load in each protocol, and how their answers are read. An answer names its key in
// all three, so that a value in the wrong place is noticed.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cached/load/plan.hpp"

namespace rubato::cached::load {

/// A part of an answer: at most one value, and whether the request is answered with it.
struct Part {
  std::size_t used = 0;  ///< 0: more bytes are needed
  bool last = false, has_value = false;
  std::string_view key, value;
  std::string_view failure;  ///< what the server answered if it was an error
};

class Wire {
 public:
  virtual ~Wire() = default;
  virtual void get(std::string& to, const std::vector<std::string>& keys) const = 0;
  /// The request without its value and what follows it; then `end_set`.
  virtual void begin_set(std::string& to, std::string_view key, std::size_t value_size) const = 0;
  virtual void end_set(std::string& to) const = 0;
  /// `many`: of a request for more than one key.
  virtual Part read(std::string_view data, bool many) const = 0;
};

std::unique_ptr<Wire> make_wire(Protocol protocol);

}  // namespace rubato::cached::load
