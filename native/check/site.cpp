// See site.hpp.
// SPDX-License-Identifier: MIT
#include "native/check/site.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string_view>
#include <vector>

namespace rubato::inline v0::native {
namespace {

/// A place in a loaded file.
struct Location {
  std::string file;  // empty: unknown
  std::uintptr_t offset = 0;
  std::string symbol;  // what the dynamic linker knows
};

Location locate(void* frame) {
  // A return address is behind the call, which may be in the next line already.
  void* const call = static_cast<char*>(frame) - 1;
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(call, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) return {};
  Location location;
  std::error_code ignored;
  location.file = map->l_name == nullptr || *map->l_name == '\0'
                      ? std::filesystem::read_symlink("/proc/self/exe", ignored).string()
                      : map->l_name;
  location.offset = reinterpret_cast<std::uintptr_t>(call) - map->l_addr;
  if (info.dli_sname != nullptr) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> name(
        abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status), &std::free);
    location.symbol = status == 0 ? name.get() : info.dli_sname;
  }
  return location;
}

std::string in_quotes(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

struct Place {
  std::string function;
  std::string file_and_line;
};

/// The place and those it was inlined into, innermost first. Empty: nothing known.
std::vector<Place> ask_addr2line(const Location& location) {
  std::ostringstream command;
  command << "addr2line -Cfi -e " << in_quotes(location.file) << " 0x" << std::hex << location.offset
          << " 2>/dev/null";
  FILE* const pipe = popen(command.str().c_str(), "r");
  if (pipe == nullptr) return {};
  std::string text;
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
  pclose(pipe);
  std::vector<Place> places;
  std::istringstream lines(text);
  for (Place place; std::getline(lines, place.function) && std::getline(lines, place.file_and_line);) {
    place.file_and_line = place.file_and_line.substr(0, place.file_and_line.find(" (discriminator"));
    if (place.function != "??") places.push_back(place);
  }
  return places;
}

bool has_line(const Place& place) { return !place.file_and_line.starts_with("??"); }

bool is_ours(const Place& place) {
  if (!has_line(place))
    return place.function.starts_with("rubato::v0::") || place.function.starts_with("std::");
  for (const std::string_view part :
       {"/include/rubato/", "/native/check/site.cpp", "/native/check/checker.cpp", "/c++/"}) {
    if (place.file_and_line.find(part) != std::string::npos) return true;
  }
  return false;
}

std::string print(const Place& place) {
  if (!has_line(place)) return place.function;
  const std::size_t slash = place.file_and_line.rfind('/');
  return place.file_and_line.substr(slash == std::string::npos ? 0 : slash + 1) + " (" + place.function + ")";
}

}  // namespace

CallStack call_stack() {
  CallStack stack;
  stack.depth = backtrace(stack.frames.data(), static_cast<int>(stack.frames.size()));
  return stack;
}

std::string site_of(const CallStack& stack) {
  std::string fallback = "an unknown place";
  bool has_fallback = false;
  for (int i = 1; i < stack.depth; ++i) {  // the first frame is call_stack() itself
    const Location location = locate(stack.frames[static_cast<std::size_t>(i)]);
    if (location.file.empty()) continue;
    for (const Place& place : ask_addr2line(location)) {
      if (!is_ours(place)) return print(place);
    }
    if (!has_fallback && !location.symbol.starts_with("rubato::v0::")) {
      std::ostringstream text;
      if (location.symbol.empty()) {
        text << location.file << "+0x" << std::hex << location.offset;
      } else {
        text << location.symbol;
      }
      fallback = text.str();
      has_fallback = true;
    }
  }
  return fallback;
}

}  // namespace rubato::inline v0::native
