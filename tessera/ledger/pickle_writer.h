// Writes plain values as a pickle of protocol 4, which every Python 3.4 and later reads.
#ifndef TESSERA_LEDGER_PICKLE_WRITER_H_
#define TESSERA_LEDGER_PICKLE_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/ledger/pickle.h"

namespace tessera::ledger {

class PickleWriter {
 public:
  void Op(uint8_t opcode) { body_.push_back(static_cast<std::byte>(opcode)); }
  void Integer(int64_t value);
  void Float(double value);
  // REQUIRES: less than 4 GiB.
  void Text(std::string_view text);
  void Global(const PickleGlobal& global);

  // The whole pickle of what was written: the same bytes as Python's for values under 64 KiB.
  std::vector<std::byte> Finish() &&;

 private:
  // The lowest `bytes` bytes.
  void LittleEndian(uint64_t value, size_t bytes);

  std::vector<std::byte> body_;
};

}  // namespace tessera::ledger

#endif  // TESSERA_LEDGER_PICKLE_WRITER_H_
