#include "tessera/ledger/pickle_scalar.h"

#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "tessera/core/status.h"
#include "tessera/core/utf8.h"
#include "tessera/ledger/pickle.h"
#include "tessera/ledger/pickle_opcodes.h"
#include "tessera/ledger/pickle_writer.h"

namespace tessera::ledger {
namespace {

struct ScalarWriter {
  absl::Status operator()(bool value) {
    writer.Op(value ? pickle_op::kNewTrue : pickle_op::kNewFalse);
    return absl::OkStatus();
  }
  absl::Status operator()(int64_t value) {
    writer.Integer(value);
    return absl::OkStatus();
  }
  absl::Status operator()(double value) {
    writer.Float(value);
    return absl::OkStatus();
  }
  absl::Status operator()(const std::complex<double>& value) {
    writer.Global({"builtins", "complex"});
    writer.Float(value.real());
    writer.Float(value.imag());
    for (const uint8_t opcode :
         {pickle_op::kTuple2, pickle_op::kMemoize, pickle_op::kReduce, pickle_op::kMemoize})
      writer.Op(opcode);
    return absl::OkStatus();
  }
  absl::Status operator()(const std::string& value) {
    if (const auto bad = FirstInvalidUtf8(value); bad.has_value()) {
      return InvalidArgument("the text is no UTF-8 at byte ", *bad);
    }
    if (value.size() > std::numeric_limits<uint32_t>::max()) {
      return InvalidArgument("a text of ", value.size(), " bytes is too long for a pickle");
    }
    writer.Text(value);
    writer.Op(pickle_op::kMemoize);
    return absl::OkStatus();
  }

  PickleWriter& writer;
};

}  // namespace

absl::StatusOr<std::optional<tree::Scalar>> DecodeScalarPickle(std::span<const std::byte> bytes) {
  TESSERA_ASSIGN_OR_RETURN(const Pickle pickle, Pickle::Decode(bytes));
  const PickleValue& value = pickle.root();
  switch (value.kind) {
    case PickleKind::kNone:
      return std::nullopt;
    case PickleKind::kBool:
      return tree::Scalar(pickle.Truth(value));
    case PickleKind::kInteger:
      return tree::Scalar(pickle.Integer(value));
    case PickleKind::kFloat:
      return tree::Scalar(pickle.Float(value));
    case PickleKind::kComplex: {
      const auto parts = pickle.Items(value);
      return tree::Scalar(std::complex<double>(pickle.Float(parts[0]), pickle.Float(parts[1])));
    }
    case PickleKind::kText:
      if (!IsValidUtf8(pickle.Text(value))) return Unimplemented("pickled text that is no UTF-8");
      return tree::Scalar(std::string(pickle.Text(value)));
    default:
      return Unimplemented("a pickled ", PickleKindName(value.kind), " is no plain value");
  }
}

absl::StatusOr<std::vector<std::byte>> EncodeScalarPickle(
    const std::optional<tree::Scalar>& value) {
  PickleWriter writer;
  if (value.has_value()) {
    TESSERA_RETURN_IF_ERROR(std::visit(ScalarWriter{writer}, *value));
  } else {
    writer.Op(pickle_op::kNone);
  }
  return std::move(writer).Finish();
}

}  // namespace tessera::ledger
