// The opcodes of Python's pickles that tessera reads and writes, and the globals that stand for
// JAX's own things.  Layout of each opcode: PICKLES.md.
#ifndef TESSERA_LEDGER_PICKLE_OPCODES_H_
#define TESSERA_LEDGER_PICKLE_OPCODES_H_

#include <array>
#include <cstdint>

#include "tessera/ledger/pickle.h"

namespace tessera::ledger {

namespace pickle_op {
inline constexpr uint8_t kProto = 0x80;            // u8 protocol
inline constexpr uint8_t kFrame = 0x95;            // u64 length
inline constexpr uint8_t kStop = '.';              //
inline constexpr uint8_t kMark = '(';              //
inline constexpr uint8_t kMemoize = 0x94;          // into the next slot
inline constexpr uint8_t kBinPut = 'q';            // u8 slot
inline constexpr uint8_t kLongBinPut = 'r';        // u32 slot
inline constexpr uint8_t kBinGet = 'h';            // u8 slot
inline constexpr uint8_t kLongBinGet = 'j';        // u32 slot
inline constexpr uint8_t kNone = 'N';              //
inline constexpr uint8_t kNewTrue = 0x88;          //
inline constexpr uint8_t kNewFalse = 0x89;         //
inline constexpr uint8_t kBinInt1 = 'K';           // u8
inline constexpr uint8_t kBinInt2 = 'M';           // u16
inline constexpr uint8_t kBinInt = 'J';            // i32
inline constexpr uint8_t kLong1 = 0x8a;            // u8 n, then n bytes of two's complement
inline constexpr uint8_t kBinFloat = 'G';          // f64, big-endian
inline constexpr uint8_t kShortBinUnicode = 0x8c;  // u8 length, UTF-8
inline constexpr uint8_t kBinUnicode = 'X';        // u32 length, UTF-8
inline constexpr uint8_t kEmptyTuple = ')';        //
inline constexpr uint8_t kTuple1 = 0x85;           //
inline constexpr uint8_t kTuple2 = 0x86;           //
inline constexpr uint8_t kTuple3 = 0x87;           //
inline constexpr uint8_t kTuple = 't';             // of what stands after the mark
inline constexpr uint8_t kEmptyList = ']';         //
inline constexpr uint8_t kAppend = 'a';            //
inline constexpr uint8_t kAppends = 'e';           // what stands after the mark
inline constexpr uint8_t kStackGlobal = 0x93;      // of a module and a name
inline constexpr uint8_t kNewObj = 0x81;           // of a type and a tuple
inline constexpr uint8_t kReduce = 'R';            // a function and a tuple
inline constexpr uint8_t kBuild = 'b';             // an object and its state
}  // namespace pickle_op

// How versions of JAX name the type of tree definitions.  The last is public and known to all of
// them, so it is what is written.
inline constexpr std::array<PickleGlobal, 3> kTreeDefNames{{
    {"jaxlib._jax.pytree", "PyTreeDef"},
    {"jaxlib.xla_extension.pytree", "PyTreeDef"},
    {"jax.tree_util", "PyTreeDef"},
}};

// The same of the registry of node types.
inline constexpr std::array<PickleGlobal, 2> kRegistryNames{{
    {"jax._src.tree_util", "default_registry"},
    {"jax.tree_util", "default_registry"},
}};

}  // namespace tessera::ledger

#endif  // TESSERA_LEDGER_PICKLE_OPCODES_H_
