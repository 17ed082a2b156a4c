// The debugger's side is played here: packets as GDB sends them, answers as its manual wants them.
// SPDX-License-Identifier: MIT
#include "chip/debug/gdb_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "chip/debug/register_map.hpp"

namespace rubato::chip {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Two threads and a page of memory at 0x1000.
struct Machine final : DebugTarget {
  std::map<int, HartState> harts{{7, {}}, {12, {}}};
  std::string memory = std::string(4096, 'm');
  static constexpr Addr kBase = 0x1000;

  std::vector<int> threads() const override { return {7, 12}; }
  const HartState* registers(int tid) const override {
    const auto found = harts.find(tid);
    return found != harts.end() ? &found->second : nullptr;
  }
  bool set_registers(int tid, const HartState& registers) override {
    harts[tid] = registers;
    return tid == 7;
  }
  std::size_t read(Addr a, std::span<std::byte> bytes) const override {
    if (a < kBase || a >= kBase + memory.size()) return 0;
    const std::size_t count = std::min<std::size_t>(bytes.size(), kBase + memory.size() - a);
    std::memcpy(bytes.data(), &memory[a - kBase], count);
    return count;
  }
  bool write(Addr a, std::span<const std::byte> bytes) override {
    if (a < kBase || a + bytes.size() > kBase + memory.size()) return false;
    std::memcpy(&memory[a - kBase], bytes.data(), bytes.size());
    return true;
  }
};

std::string packet(const std::string& data) {
  unsigned sum = 0;
  for (const char c : data) sum += static_cast<unsigned char>(c);
  char end[4];
  std::snprintf(end, sizeof end, "#%02x", sum & 0xff);
  return "$" + data + end;
}

class Server : public ::testing::Test {
 protected:
  Server() {
    int sockets[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    debugger_ = sockets[0];
    server_ = GdbServer::connected(sockets[1]);
    machine_.harts[7].x[2] = 0x1234;
    machine_.harts[7].pc = 0x10546;
  }
  ~Server() override {
    if (debugger_ >= 0) ::close(debugger_);
  }

  void say(const std::string& bytes) {
    ASSERT_EQ(::write(debugger_, bytes.data(), bytes.size()), ssize_t(bytes.size()));
  }
  void hang_up() {
    ::close(debugger_);
    debugger_ = -1;
  }
  /// Everything that the server has sent so far.
  std::string heard() {
    std::string text(65536, '\0');
    const ssize_t count = ::recv(debugger_, text.data(), text.size(), MSG_DONTWAIT);
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text;
  }
  /// Answer of the server, without frames and acknowledgments.
  std::string answer(const std::string& question) {
    say(packet(question) + packet("c"));
    EXPECT_EQ(server_->stopped(machine_, 7, 5), GdbServer::Wish::go_on);
    std::string text = heard();
    // The stop is announced before, but for the first.
    const auto last = text.rfind('$');
    EXPECT_NE(last, std::string::npos) << text;
    const auto end = text.find('#', last);
    return text.substr(last + 1, end - last - 1);
  }

  Machine machine_;
  std::unique_ptr<GdbServer> server_;
  int debugger_ = -1;
};

TEST_F(Server, TellsWhyItStopped) {
  EXPECT_EQ(answer("?"), "T05thread:7;");
  say(packet("c"));
  server_->stopped(machine_, 12, 11);
  EXPECT_THAT(heard(), HasSubstr(packet("T0bthread:c;")));
}

TEST_F(Server, AcknowledgesUntilToldNotTo) {
  say(packet("QStartNoAckMode") + "+" + packet("qC") + packet("c"));
  server_->stopped(machine_, 7, 5);
  EXPECT_EQ(heard(), "+" + packet("OK") + packet("QC7"));
}

TEST_F(Server, AsksAgainForADamagedPacket) {
  say("$qC#00" + packet("qC") + packet("c"));
  server_->stopped(machine_, 7, 5);
  EXPECT_EQ(heard(), "-+" + packet("QC7") + "+");
}

TEST_F(Server, SendsAgainWhatWasDamaged) {
  say(packet("qC") + "-" + packet("c"));
  server_->stopped(machine_, 7, 5);
  EXPECT_EQ(heard(), "+" + packet("QC7") + packet("QC7") + "+");
}

TEST_F(Server, KnowsThreads) {
  EXPECT_EQ(answer("qfThreadInfo"), "m7,c");
  EXPECT_EQ(answer("qsThreadInfo"), "l");
  EXPECT_EQ(answer("Tc"), "OK");
  EXPECT_EQ(answer("T63"), "E01");
  EXPECT_EQ(answer("Hg63"), "E01");
}

TEST_F(Server, ReadsAndWritesRegistersOfTheChosenThread) {
  EXPECT_EQ(answer("p2"), "3412000000000000");
  EXPECT_EQ(answer("p20"), "4605010000000000");
  EXPECT_EQ(answer("p44"), "E01");
  EXPECT_EQ(answer("pzz"), "E01");
  const std::string all = answer("g");
  EXPECT_EQ(all.size(), 2 * (65 * 8 + 3 * 4));
  EXPECT_EQ(all.substr(32, 16), "3412000000000000");
  EXPECT_EQ(answer("Pa=efbeadde00000000"), "OK");
  EXPECT_EQ(machine_.harts[7].x[10], 0xdeadbeef);
  EXPECT_EQ(answer("Pa=ef"), "E01");
  machine_.harts[12].x[2] = 0x99;
  say(packet("Hgc") + packet("p2") + packet("P2=0000000000000000") + packet("c"));
  server_->stopped(machine_, 7, 5);
  EXPECT_THAT(heard(), HasSubstr(packet("9900000000000000") + "+" + packet("E01")));
}

TEST_F(Server, TakesAllRegistersBackAsItGaveThem) {
  HartState& hart = machine_.harts[7];
  for (unsigned i = 1; i < 32; ++i) hart.x[i] = i * 0x0101010101010101;
  for (unsigned i = 0; i < 32; ++i) hart.f[i] = ~std::uint64_t{i};
  hart.fcsr = 0x73;
  const HartState before = hart;
  const std::string all = answer("g");
  hart = {};
  EXPECT_EQ(answer("G" + all), "OK");
  EXPECT_EQ(hart.x, before.x);
  EXPECT_EQ(hart.f, before.f);
  EXPECT_EQ(hart.pc, before.pc);
  EXPECT_EQ(hart.fcsr, before.fcsr);
  EXPECT_EQ(answer("G" + all.substr(2)), "E01");
}

TEST_F(Server, ReadsAndWritesMemory) {
  EXPECT_EQ(answer("m1000,3"), "6d6d6d");
  EXPECT_EQ(answer("m1fff,10"), "6d");  // up to where it ends
  EXPECT_EQ(answer("m3000,1"), "E01");
  EXPECT_EQ(answer("m10"), "E01");
  EXPECT_EQ(answer("M1001,2:0290"), "OK");
  EXPECT_EQ(machine_.memory.substr(0, 4), "m\x02\x90m");
  EXPECT_EQ(answer("M1001,3:0290"), "E01");
  EXPECT_EQ(answer("M1fff,2:0290"), "E01");
  EXPECT_EQ(machine_.memory[4095], 'm');
  EXPECT_EQ(answer("X1000,3:}\x03}]a"), "OK");  // `#` and `}` escaped
  EXPECT_EQ(machine_.memory.substr(0, 3), "#}a");
}

TEST_F(Server, DescribesItsRegistersInParts) {
  EXPECT_THAT(answer("qSupported:xmlRegisters=i386"), HasSubstr("qXfer:features:read+"));
  std::string all, part;
  do {
    char question[64];
    std::snprintf(question, sizeof question, "qXfer:features:read:target.xml:%zx,100", all.size());
    part = answer(question);
    all += part.substr(1);
  } while (part.front() == 'm');
  EXPECT_EQ(all, register_description());
  EXPECT_THAT(all, HasSubstr("name=\"fp\""));
}

TEST_F(Server, AnswersNothingToWhatItDoesNotKnow) {
  EXPECT_EQ(answer("vMustReplyEmpty"), "");
  EXPECT_EQ(answer("Z0,10546,2"), "");
  EXPECT_EQ(answer("qSymbol::"), "");
}

TEST_F(Server, EndsDetachesAndOutlivesADebuggerThatIsGone) {
  say(packet("k"));
  EXPECT_EQ(server_->stopped(machine_, 7, 5), GdbServer::Wish::end);
  EXPECT_EQ(server_->stopped(machine_, 7, 5), GdbServer::Wish::detach);
}

TEST_F(Server, Detaches) {
  say(packet("D"));
  EXPECT_EQ(server_->stopped(machine_, 7, 5), GdbServer::Wish::detach);
  EXPECT_THAT(heard(), HasSubstr(packet("OK")));
  server_->ended(0, 0);  // without a debugger
}

TEST_F(Server, EndsTheRunOfADebuggerThatIsGone) {
  say("+$qC");
  hang_up();
  EXPECT_EQ(server_->stopped(machine_, 7, 5), GdbServer::Wish::end);
}

TEST_F(Server, SeesAnInterrupt) {
  EXPECT_FALSE(server_->is_interrupted());
  say("+\x03");
  EXPECT_TRUE(server_->is_interrupted());
  EXPECT_FALSE(server_->is_interrupted());
  hang_up();
  EXPECT_TRUE(server_->is_interrupted());
}

TEST_F(Server, TellsHowTheProgramEnded) {
  server_->ended(3, 0);
  EXPECT_EQ(heard(), packet("W03"));
}

TEST_F(Server, TellsWhatSignalEndedIt) {
  server_->ended(0, 11);
  EXPECT_EQ(heard(), packet("X0b"));
}

TEST(GdbServerPort, IsAnyFreeOneAndNobodyElses) {
  const GdbServer first(0);
  EXPECT_NE(first.port(), 0);
  try {
    const GdbServer second(first.port());
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), StartsWith("--gdb " + std::to_string(first.port()) + ": cannot listen"));
  }
}

TEST(RegisterMap, SplitsTheFloatingPointStatus) {
  HartState hart;
  write_register(hart, 66, 3);
  write_register(hart, 65, 0x3f);
  EXPECT_EQ(hart.fcsr, 3u << 5 | 0x1f);
  write_register(hart, 67, 0xfff);
  EXPECT_EQ(hart.fcsr, 0xffu);
  EXPECT_EQ(read_register(hart, 65), 0x1fu);
  EXPECT_EQ(read_register(hart, 66), 7u);
  write_register(hart, 0, 5);
  EXPECT_EQ(hart.x[0], 0u);
}

}  // namespace
}  // namespace rubato::chip
