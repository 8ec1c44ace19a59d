#include "tessera/ledger/pickle.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/core/testing/status_matchers.h"

namespace tessera::ledger {
namespace {

using ::tessera::testing::IsOk;
using ::tessera::testing::kDataLoss;
using ::tessera::testing::kUnimplemented;
using ::tessera::testing::StatusIs;
using ::testing::HasSubstr;

std::vector<std::byte> Bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// `program` after the protocol, and a stop.
std::vector<std::byte> Program(std::string_view program) {
  return Bytes("\x80\x04" + std::string(program) + ".");
}

std::string Text(std::string_view text) {
  return "\x8c" + std::string(1, static_cast<char>(text.size())) + std::string(text);
}

std::string Global(std::string_view module, std::string_view name) {
  return Text(module) + Text(name) + "\x93";
}

absl::Status StatusOf(const std::vector<std::byte>& bytes) {
  return Pickle::Decode(bytes).status();
}

TEST(PickleTest, ReadsNumbersOfEveryWidth) {
  const auto integer = [](std::string_view program) {
    const auto bytes = Program(program);
    const auto pickle = Pickle::Decode(bytes);
    return pickle->Integer(pickle->root());
  };
  using std::string_literals::operator""s;
  EXPECT_EQ(integer("K\xff"), 255);
  EXPECT_EQ(integer("M\xff\xff"), 65535);
  EXPECT_EQ(integer("J\xff\xff\xff\xff"), -1);
  EXPECT_EQ(integer("J\x00\x00\x00\x80"s), INT32_MIN);
  EXPECT_EQ(integer("\x8a\x00"s), 0);
  EXPECT_EQ(integer("\x8a\x01\x80"), -128);
  EXPECT_EQ(integer("\x8a\x02\x80\x00"s), 128);
  EXPECT_EQ(integer("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"), INT64_MAX);
}

TEST(PickleTest, AListThatIsNamedTwiceIsOneList) {
  // [], kept; (list, list); then 1 is appended to what the memo holds.
  const auto bytes = Program("]\x94h" + std::string(1, '\0') + "K\x01" + "a\x86");
  TESSERA_ASSERT_OK_AND_ASSIGN(const Pickle pickle, Pickle::Decode(bytes));
  const auto lists = pickle.Items(pickle.root());
  ASSERT_EQ(lists.size(), 2u);
  EXPECT_EQ(pickle.Items(lists[0]).size(), 1u);
  EXPECT_EQ(pickle.Items(lists[1]).size(), 1u);
}

TEST(PickleTest, AListMayHoldItself) {
  const auto bytes = Program("]\x94h" + std::string(1, '\0') + "a");
  TESSERA_ASSERT_OK_AND_ASSIGN(const Pickle pickle, Pickle::Decode(bytes));
  EXPECT_EQ(pickle.Items(pickle.root())[0].kind, PickleKind::kList);
}

TEST(PickleTest, ReadsTheMemoOfOlderProtocols) {
  const std::string zero(1, '\0');
  EXPECT_THAT(StatusOf(Program("K\x01q" + zero + "h" + zero + "\x86")), IsOk());
  EXPECT_THAT(StatusOf(Program("K\x01r" + zero + zero + zero + zero + "j" + zero + zero + zero +
                               zero + "\x86")),
              IsOk());
}

TEST(PickleTest, OpcodesThatAreNotKnownAreNamedWithTheirByte) {
  EXPECT_THAT(
      StatusOf(Program("cos\nsystem\n")),
      StatusIs(kUnimplemented, "pickle opcode 0x63 'c' at byte 2 is none that plain data needs"));
  EXPECT_THAT(StatusOf(Program("N}")),
              StatusIs(kUnimplemented, HasSubstr("pickle opcode 0x7d '}' at byte 3")));
  EXPECT_THAT(StatusOf(Program("\x92")),
              StatusIs(kUnimplemented, HasSubstr("pickle opcode 0x92 at byte 2")));
}

// The opcodes that Python's own reader would call something for.
TEST(PickleTest, NothingIsCalled) {
  EXPECT_THAT(StatusOf(Program(Global("os", "system") + Text("true") + "\x85R")),
              StatusIs(kUnimplemented, HasSubstr("the pickle calls os.system at byte")));
  EXPECT_THAT(StatusOf(Program(Global("builtins", "eval") + Text("1") + "\x85R")),
              StatusIs(kUnimplemented, HasSubstr("the pickle calls builtins.eval at byte")));
  EXPECT_THAT(StatusOf(Program(Global("builtins", "complex") + Text("1") + Text("2") + "\x86R")),
              StatusIs(kUnimplemented, HasSubstr("the pickle calls builtins.complex at byte")));
  EXPECT_THAT(StatusOf(Program(Global("subprocess", "Popen") + ")\x81")),
              StatusIs(kUnimplemented, HasSubstr("makes an object of subprocess.Popen at byte")));
  EXPECT_THAT(StatusOf(Program(Global("jaxlib._jax.pytree", "PyTreeDef") + "K\x01\x85\x81")),
              StatusIs(kUnimplemented, HasSubstr("makes an object of jaxlib._jax.pytree")));
  EXPECT_THAT(StatusOf(Program("]Nb")),
              StatusIs(kUnimplemented,
                       "the pickle sets the state of a list at byte 4, which is "
                       "not done"));
}

TEST(PickleTest, OneTreeDefinitionIsAllowed) {
  const std::string type = Global("jaxlib._jax.pytree", "PyTreeDef");
  EXPECT_THAT(StatusOf(Program(type + ")\x81Nb")), IsOk());
  EXPECT_THAT(StatusOf(Program(type + ")\x81NbNb")),
              StatusIs(kUnimplemented, HasSubstr("sets the state of a PyTreeDef")));
  EXPECT_THAT(StatusOf(Program(type + ")\x81" + type + ")\x81\x86")),
              StatusIs(kUnimplemented, HasSubstr("makes an object of jaxlib._jax.pytree")));
}

TEST(PickleTest, BrokenProgramsAreDataLoss) {
  const auto broken = [](std::string_view program) { return StatusOf(Program(program)); };
  EXPECT_THAT(StatusOf({}), StatusIs(kDataLoss, HasSubstr("at byte 0 wants 1 bytes")));
  EXPECT_THAT(StatusOf(Bytes("N.")), StatusIs(kDataLoss, HasSubstr("begin with its protocol")));
  EXPECT_THAT(broken("\x80\x04N"), StatusIs(kDataLoss, HasSubstr("0x80 at byte 2")));
  EXPECT_THAT(broken(""), StatusIs(kDataLoss, HasSubstr("takes more values")));
  EXPECT_THAT(broken("NN"), StatusIs(kDataLoss, HasSubstr("more than one value")));
  EXPECT_THAT(broken("(N"), StatusIs(kDataLoss, HasSubstr("more than one value")));
  EXPECT_THAT(broken("N("), StatusIs(kDataLoss, HasSubstr("takes more values")));
  EXPECT_THAT(broken("Nt"), StatusIs(kDataLoss, HasSubstr("wants a mark")));
  EXPECT_THAT(broken("N\x86"), StatusIs(kDataLoss, HasSubstr("takes more values")));
  EXPECT_THAT(broken("N(\x85"), StatusIs(kDataLoss, HasSubstr("takes more values")));
  EXPECT_THAT(broken("(Ne"), StatusIs(kDataLoss, HasSubstr("takes more values")));
  EXPECT_THAT(broken("]](a"), StatusIs(kDataLoss, HasSubstr("takes more values")));
  EXPECT_THAT(broken("\x94"), StatusIs(kDataLoss, HasSubstr("takes more values")));
  EXPECT_THAT(broken("h\x05"), StatusIs(kDataLoss, HasSubstr("memo slot 5 of 0")));
  EXPECT_THAT(broken("Nq\x05"), StatusIs(kDataLoss, HasSubstr("memo slot 5 before slot 0")));
  EXPECT_THAT(broken("K\x01K\x02\x93"), StatusIs(kDataLoss, HasSubstr("by a int and a int")));
  EXPECT_THAT(StatusOf(Bytes("\x80\x04N.N")),
              StatusIs(kDataLoss, "the pickle ends at byte 4, but 5 were given"));
}

TEST(PickleTest, LengthsPastTheEndAreDataLoss) {
  EXPECT_THAT(StatusOf(Program("\x8c\xff")), StatusIs(kDataLoss, HasSubstr("wants 255 bytes")));
  EXPECT_THAT(StatusOf(Program("X\xff\xff\xff\xff")),
              StatusIs(kDataLoss, HasSubstr("wants 4294967295 bytes")));
  EXPECT_THAT(StatusOf(Program("\x95\xff\xff\xff\xff\xff\xff\xff\xffN")),
              StatusIs(kDataLoss, HasSubstr("frame at byte 2 has 18446744073709551615 bytes")));
}

TEST(PickleTest, WhatIsTooLargeIsRefused) {
  EXPECT_THAT(StatusOf(Program("\x8a\x09" + std::string(9, '\x7f'))),
              StatusIs(kUnimplemented, HasSubstr("has 9 bytes, of which at most 8 are read")));
  EXPECT_THAT(StatusOf(Bytes("\x80\x06N.")),
              StatusIs(kUnimplemented, "pickle protocol 6, of which 2 to 5 are read"));
  EXPECT_THAT(StatusOf(std::vector<std::byte>(kMaxPickleBytes + 1)),
              StatusIs(kUnimplemented, HasSubstr("of which at most 67108864 are read")));
}

}  // namespace
}  // namespace tessera::ledger
