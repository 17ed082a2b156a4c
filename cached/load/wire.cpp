// SPDX-License-Identifier: MIT
#include "cached/load/wire.hpp"

#include <algorithm>
#include <charconv>

namespace rubato::cached::load {

namespace {

std::string_view word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view found = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return found;
}

std::size_t number(std::string_view text) {
  std::size_t value = ~std::size_t{0} >> 1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Takes the data block behind a line of `line_size` bytes.
void take_value(Part& part, std::string_view data, std::size_t line_size, std::size_t size) {
  if (data.size() < line_size + size + 2) return;
  part.value = data.substr(line_size, size);
  part.has_value = true;
  part.used = line_size + size + 2;
  if (data.substr(line_size + size, 2) != "\r\n")
    part.failure = "no line end behind a value", part.last = true;
}

class Lines : public Wire {
 public:
  void end_set(std::string& to) const override { to += "\r\n"; }
  Part read(std::string_view data, bool many) const override {
    Part part;
    const std::size_t end = data.find("\r\n");
    if (end == data.npos) return part;
    const std::string_view line = data.substr(0, end);
    std::string_view rest = line;
    if (!read_line(part, data, word(rest), rest, end + 2, many)) {
      part.used = end + 2, part.last = true;
      part.failure = line;
    }
    return part;
  }

 private:
  /// False if the line is an error.
  virtual bool read_line(Part& part, std::string_view data, std::string_view first, std::string_view rest,
                         std::size_t line_size, bool many) const = 0;
};

class TextWire final : public Lines {
 public:
  void get(std::string& to, const std::vector<std::string>& keys) const override {
    to += "get";
    for (const std::string& key : keys) to += ' ', to += key;
    to += "\r\n";
  }
  void begin_set(std::string& to, std::string_view key, std::size_t value_size) const override {
    ((((to += "set ") += key) += " 0 0 ") += std::to_string(value_size)) += "\r\n";
  }

 private:
  bool read_line(Part& part, std::string_view data, std::string_view first, std::string_view rest,
                 std::size_t line_size, bool) const override {
    if (first == "VALUE") {
      part.key = word(rest);
      word(rest);
      take_value(part, data, line_size, number(word(rest)));
      return true;
    }
    part.used = line_size, part.last = true;
    return first == "END" || first == "STORED";
  }
};

class MetaWire final : public Lines {
 public:
  void get(std::string& to, const std::vector<std::string>& keys) const override {
    // Misses of many keys are silent; `mn` says where they end.
    for (const std::string& key : keys) ((to += "mg ") += key) += keys.size() > 1 ? " v k q\r\n" : " v k\r\n";
    if (keys.size() > 1) to += "mn\r\n";
  }
  void begin_set(std::string& to, std::string_view key, std::size_t value_size) const override {
    ((((to += "ms ") += key) += ' ') += std::to_string(value_size)) += "\r\n";
  }

 private:
  bool read_line(Part& part, std::string_view data, std::string_view first, std::string_view rest,
                 std::size_t line_size, bool many) const override {
    if (first == "VA") {
      const std::size_t size = number(word(rest));
      if (!rest.empty() && rest[0] == 'k') part.key = word(rest).substr(1);
      part.last = !many;
      take_value(part, data, line_size, size);
      return true;
    }
    part.used = line_size, part.last = true;
    return first == "EN" || first == "MN" || first == "HD";
  }
};

class BinaryWire final : public Wire {
 public:
  void get(std::string& to, const std::vector<std::string>& keys) const override {
    for (const std::string& key : keys) {
      header(to, keys.size() > 1 ? kGetKeyQuiet : kGetKey, key.size(), 0, 0);
      to += key;
    }
    if (keys.size() > 1) header(to, kNoop, 0, 0, 0);
  }
  void begin_set(std::string& to, std::string_view key, std::size_t value_size) const override {
    header(to, kSet, key.size(), 8, value_size);
    to.append(8, '\0');
    to += key;
  }
  void end_set(std::string&) const override {}

  Part read(std::string_view data, bool) const override {
    Part part;
    if (data.size() < kHeader) return part;
    const auto byte = [&](std::size_t n) { return std::size_t{static_cast<unsigned char>(data[n])}; };
    const std::size_t body = byte(8) << 24 | byte(9) << 16 | byte(10) << 8 | byte(11);
    if (data.size() < kHeader + body) return part;
    const std::size_t opcode = byte(1), key_size = byte(2) << 8 | byte(3), extras = byte(4);
    const std::size_t status = byte(6) << 8 | byte(7);
    part.used = kHeader + body;
    part.last = opcode != kGetKeyQuiet;
    const std::string_view content = data.substr(kHeader, body);
    if (byte(0) != 0x81 || extras + key_size > body) {
      part.failure = "no answer of the binary protocol", part.last = true;
    } else if (status != 0 && !(status == 1 && opcode == kGetKey)) {
      part.failure = content.empty() ? "an error without a sentence" : content, part.last = true;
    } else if (status == 0 && (opcode == kGetKey || opcode == kGetKeyQuiet)) {
      part.has_value = true;
      part.key = content.substr(extras, key_size), part.value = content.substr(extras + key_size);
    }
    return part;
  }

 private:
  static constexpr std::size_t kHeader = 24;
  static constexpr unsigned kSet = 1, kNoop = 0x0a, kGetKey = 0x0c, kGetKeyQuiet = 0x0d;
  static void header(std::string& to, unsigned opcode, std::size_t key, std::size_t extras,
                     std::size_t value) {
    const std::size_t body = key + extras + value;
    const std::size_t bytes[kHeader] = {0x80, opcode, key >> 8,   key,        extras,    0,
                                        0,    0,      body >> 24, body >> 16, body >> 8, body};
    for (const std::size_t b : bytes) to += static_cast<char>(b & 255);
  }
};

}  // namespace

std::unique_ptr<Wire> make_wire(Protocol protocol) {
  if (protocol == Protocol::text) return std::make_unique<TextWire>();
  if (protocol == Protocol::meta) return std::make_unique<MetaWire>();
  return std::make_unique<BinaryWire>();
}

}  // namespace rubato::cached::load
