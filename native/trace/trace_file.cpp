// SPDX-License-Identifier: MIT
#include "native/trace/trace_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <typeinfo>

#include "base/function_names.hpp"
#include "base/json_text.hpp"
#include "native/trace/gzip.hpp"
#include "rubato/engine/actor_extras.hpp"
#include "rubato/engine/native_actors.hpp"
#include "rubato/errors.hpp"

namespace rubato::inline v0::native {
namespace {

constexpr std::array<const char*, kTraceKinds> kNames = {"task",  "idle",    "parked",
                                                         "aside", "lagging", "sampling"};

std::string microseconds(std::int64_t nanoseconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%lld.%03lld", static_cast<long long>(nanoseconds / 1000),
                static_cast<long long>(nanoseconds % 1000));
  return text.data();
}

/// An actor's turn. Its arguments name the actor, if it still lives, and the message whose handler took
/// longest.
bool is_turn(const TraceSpan& span) { return span.code->run == engine::run_actor_turn; }

std::string arguments_of(const TraceSpan& span) {
  namespace handle = engine::handle;
  std::string text;
  const auto add = [&text](const std::string& field) { text += (text.empty() ? "" : ",") + field; };
  if ((span.handle & handle::kTimestamped) != 0) add("\"timestamp\":" + json_exact(span.timestamp));
  if ((span.handle & handle::kResource) != 0) {
    std::array<char, 32> address{};
    std::snprintf(address.data(), address.size(), "\"0x%llx\"",
                  static_cast<unsigned long long>(span.handle & handle::kLocaleMask));
    add(std::string("\"resource\":") + address.data());
    add((span.handle & handle::kReads) != 0 ? "\"access\":\"reads\"" : "\"access\":\"writes\"");
  }
  if ((span.handle & handle::kSpec) != 0) add("\"type\":\"spec\"");
  if (!is_turn(span)) return text;
  if (span.timestamp != 0) {
    const engine::Cell* const cell = engine::cell_of(span.timestamp);
    const bool has_name = engine::is_alive(span.timestamp) && cell->extras != nullptr;
    if (has_name && !cell->extras->name.empty()) add("\"actor\":" + json_quoted(cell->extras->name));
  }
  if (const auto* const message = reinterpret_cast<const std::type_info*>(span.first_word))
    add("\"message\":" + json_quoted(engine::function_name(nullptr, *message)));
  return text;
}

/// In quotes, whatever bytes it has: those that are no ASCII are question marks.
std::string quoted_bytes(std::string bytes) {
  for (char& c : bytes)
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return json_quoted(bytes);
}

/// The words of the command line, and what the engine was told by variables, as two JSON lists.
std::string said_of_program() {
  std::ifstream cmdline("/proc/self/cmdline", std::ios::binary);
  std::string words{std::istreambuf_iterator<char>(cmdline), {}}, command, variables;
  for (std::size_t begin = 0, end; begin < words.size(); begin = end + 1) {
    end = std::min(words.find('\0', begin), words.size());
    command += (command.empty() ? "" : ",") + quoted_bytes(words.substr(begin, end - begin));
  }
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "RUBATO_", 7) == 0)
      variables += (variables.empty() ? "" : ",") + quoted_bytes(*variable);
  }
  return "\"command\":[" + command + "],\"environment\":[" + variables + "]";
}

constexpr std::size_t kPieceBytes = 1 << 20;  // of text that is written, and compressed, at a time

}  // namespace

TraceFile::TraceFile(std::string path, unsigned workers, std::size_t spans_a_worker)
    : path_(std::move(path)), is_compressed_(path_.ends_with(".gz")), ends_(workers) {
  if (is_compressed_ && !has_gzip()) {
    throw TaskError("the trace " + path_ +
                    " cannot be written: this engine was built without zlib; give it a name "
                    "without .gz (RUBATO_TRACE)");
  }
  file_ = std::fopen(path_.c_str(), "w");
  if (file_ == nullptr) {
    throw TaskError("the trace " + path_ + " cannot be written: " + std::strerror(errno) + " (RUBATO_TRACE)");
  }
  for (unsigned w = 0; w < workers; ++w) lanes_.push_back(std::make_unique<TraceLane>(spans_a_worker));
  about_ = said_of_program();
  text_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  write_event(R"("ph":"M","name":"process_name","pid":0,"args":{"name":)" +
              quoted_bytes(program_invocation_short_name) + "}");
  for (unsigned track = 0; track <= workers; ++track) {
    const std::string name = track == workers ? "run()" : "worker " + std::to_string(track);
    write_event(R"("ph":"M","name":"thread_name","pid":0,"tid":)" + std::to_string(track) +
                ",\"args\":{\"name\":" + json_quoted(name) + "}");
  }
  write_tail();
}

TraceFile::~TraceFile() {
  std::fclose(file_);
  say_left_out();
}

TraceFile::Moment TraceFile::now() const {
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_);
  return {ticks(), since.count()};
}

void TraceFile::begin_run() { begin_ = now(); }

void TraceFile::end_run() {
  end_ = now();
  ++runs_;
  must_write_ = true;
  for (std::size_t w = 0; w < lanes_.size(); ++w) {
    // In this order a span that ends just now is left out, and not written twice.
    ends_[w].end = lanes_[w]->size();
    for (std::size_t k = 0; k < kTraceKinds; ++k)
      ends_[w].opened[k] = lanes_[w]->opened(static_cast<Kind>(k));
  }
}

/// The clock of ticks against the system's, which both ran from the run's begin to its end.
std::int64_t TraceFile::time_of(std::uint64_t tick) const {
  tick = std::clamp(tick, begin_.tick, end_.tick);
  const double rate = static_cast<double>(end_.nanoseconds - begin_.nanoseconds) /
                      static_cast<double>(std::max<std::uint64_t>(1, end_.tick - begin_.tick));
  return begin_.nanoseconds + static_cast<std::int64_t>(static_cast<double>(tick - begin_.tick) * rate);
}

void TraceFile::write() noexcept {
  if (!std::exchange(must_write_, false)) return;
  phases_.clear();
  for (unsigned w = 0; w < lanes_.size(); ++w) {
    Lane& lane = ends_[w];
    for (; lane.written < lane.end; ++lane.written) write_span(w, (*lanes_[w])[lane.written]);
    for (const Kind kind : {Kind::idle, Kind::parked, Kind::aside}) {
      const std::uint64_t begin = lane.opened[static_cast<std::size_t>(kind)];
      if (begin != 0) write_span(w, {begin, end_.tick, nullptr, 0, 0, 0, kind});
    }
  }
  write_slice(static_cast<unsigned>(lanes_.size()), "run", "\"run()\"", begin_.nanoseconds, end_.nanoseconds,
              "\"number\":" + std::to_string(runs_));
  nanoseconds_ += end_.nanoseconds - begin_.nanoseconds;
  write_phases();
  write_tail();
}

void TraceFile::write_event(const std::string& fields) {
  text_ += is_first_ ? "\n{" : ",\n{";
  text_ += fields;
  text_ += '}';
  is_first_ = false;
  if (text_.size() >= kPieceBytes) put_text();
}

/// Writes the collected text to the file, into a compressed one as a member of its own.
void TraceFile::put_text() {
  if (text_.empty()) return;
  const std::string packed = is_compressed_ ? gzip(text_) : std::string();
  const std::string& bytes = is_compressed_ ? packed : text_;
  is_lost_ = is_lost_ || bytes.empty();
  std::fwrite(bytes.data(), 1, bytes.size(), file_);
  text_.clear();
}

void TraceFile::write_slice(unsigned track, const char* category, const std::string& quoted_name,
                            std::int64_t begin, std::int64_t end, const std::string& arguments) {
  write_event(std::string(R"("ph":"X","cat":")") + category + "\",\"name\":" + quoted_name +
              ",\"pid\":0,\"tid\":" + std::to_string(track) + ",\"ts\":" + microseconds(begin) +
              ",\"dur\":" + microseconds(end - begin) + ",\"args\":{" + arguments + "}");
}

void TraceFile::write_span(unsigned worker, const TraceSpan& span) {
  // A worker that slept across the end of a run: the part in this run, if there is one.
  if (span.end <= begin_.tick || span.begin >= end_.tick) return;
  const std::int64_t begin = time_of(span.begin), end = time_of(span.end);
  ends_[worker].nanoseconds[static_cast<std::size_t>(span.kind)] += end - begin;
  if (span.kind != Kind::task) {
    const std::string name = kNames[static_cast<std::size_t>(span.kind)];
    return write_slice(worker, "worker", '"' + name + '"', begin, end, "");
  }
  write_slice(worker, "task", name_of(span), begin, end, arguments_of(span));
  if ((span.handle & engine::handle::kTimestamped) == 0) return;
  Phase& phase = phases_.try_emplace(span.timestamp, Phase{begin, end, 0, worker, 1}).first->second;
  ++phase.tasks;
  phase.begin = std::min(phase.begin, begin);
  phase.end = std::max(phase.end, end);
  phase.workers += phase.last_worker != worker ? 1 : 0;  // they come worker by worker
  phase.last_worker = worker;
}

void TraceFile::write_phases() {
  std::int64_t last = begin_.nanoseconds;
  for (const auto& [timestamp, phase] : phases_) {
    if (phase.tasks < 2) continue;
    // Clocks of cores may differ by nanoseconds; phases do not overlap.
    const std::int64_t begin = std::clamp(phase.begin, last, end_.nanoseconds);
    last = std::clamp(phase.end, begin, end_.nanoseconds);
    write_slice(static_cast<unsigned>(lanes_.size()), "order",
                "\"timestamp " + std::to_string(timestamp) + '"', begin, last,
                "\"tasks\":" + std::to_string(phase.tasks) + ",\"workers\":" + std::to_string(phase.workers));
  }
}

/// Writes the part behind the events, which is replaced when more of them come. It says where the time went.
/// Time in no slice is the engine's own, to find, order and hand out tasks and their memory.
void TraceFile::write_tail() {
  put_text();
  const long position = std::ftell(file_);
  std::string text = "\n],\"otherData\":{" + about_ + ",\"runs\":" + std::to_string(runs_) +
                     ",\"run_us\":" + microseconds(nanoseconds_) + ",\n\"functions\":{";
  for (const char* separator = ""; const auto& [function, name] : short_names_.all()) {
    text += separator + json_quoted(name) + ":" + json_quoted(function);
    separator = ",";
  }
  text += '}';
  const double rate = ticks_per_microsecond() / 1000;
  for (std::size_t w = 0; w < lanes_.size(); ++w) {
    text += ",\n\"worker " + std::to_string(w) + "\":{";
    for (std::size_t k = 0; k < kTraceKinds; ++k) {
      const auto kind = static_cast<Kind>(k);
      const double left_out = static_cast<double>(lanes_[w]->ticks_left_out(kind)) / rate;
      const std::int64_t time = ends_[w].nanoseconds[k] + static_cast<std::int64_t>(left_out);
      text += std::string(k == 0 ? "\"" : ",\"") + kNames[k] + "_us\":" + microseconds(time) + ",\"" +
              kNames[k] + "_left_out\":" + std::to_string(lanes_[w]->left_out(kind));
    }
    text += '}';
  }
  text_ = std::move(text) + "}}\n";
  put_text();
  const bool is_written = std::fflush(file_) == 0 && std::ferror(file_) == 0 && !is_lost_ &&
                          ftruncate(fileno(file_), std::ftell(file_)) == 0;
  if (!is_written && !std::exchange(has_failed_, true)) {
    std::fprintf(stderr, "rubato: the trace could not be written to %s (RUBATO_TRACE)\n", path_.c_str());
  }
  std::fseek(file_, position, SEEK_SET);
}

void TraceFile::say_left_out() const {
  std::uint64_t tasks = 0, others = 0;
  for (const auto& lane : lanes_) {
    for (std::size_t k = 0; k < kTraceKinds; ++k) {
      const auto kind = static_cast<Kind>(k);
      (kind == Kind::task ? tasks : others) += lane->left_out(kind);
    }
  }
  if (tasks + others == 0) return;
  std::fprintf(stderr,
               "rubato: the trace %s leaves out %llu tasks and %llu spans of waiting, each worker's last "
               "(RUBATO_TRACE_SPANS keeps more)\n",
               path_.c_str(), static_cast<unsigned long long>(tasks),
               static_cast<unsigned long long>(others));
}

const std::string& TraceFile::name_of(const TraceSpan& span) {
  const std::uint64_t function = span.code->is_function_pointer ? span.first_word : 0;
  const auto [it, is_new] = names_.try_emplace({span.code, function});
  if (is_new) {
    it->second = json_quoted(
        short_names_.of(engine::function_name(reinterpret_cast<const void*>(function), *span.code->type)));
  }
  return it->second;
}

}  // namespace rubato::inline v0::native
