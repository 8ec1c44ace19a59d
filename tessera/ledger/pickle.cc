#include "tessera/ledger/pickle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "tessera/core/status.h"
#include "tessera/ledger/pickle_opcodes.h"

namespace tessera::ledger {

std::string_view PickleKindName(PickleKind kind) {
  static constexpr std::string_view kNames[] = {"None", "bool",  "int",  "float",  "complex",
                                                "str",  "tuple", "list", "global", "PyTreeDef"};
  return kNames[static_cast<size_t>(kind)];
}

// Runs the program.  `offset_` is the byte of the opcode that is being done.
class PickleMachine {
 public:
  explicit PickleMachine(std::span<const std::byte> bytes) : pickle_(bytes), bytes_(bytes) {}

  absl::StatusOr<Pickle> Run() {
    if (bytes_.size() > kMaxPickleBytes) {
      return Unimplemented("a pickle of ", bytes_.size(), " bytes, of which at most ",
                           kMaxPickleBytes, " are read");
    }
    while (!stopped_) {
      offset_ = next_;
      TESSERA_ASSIGN_OR_RETURN(const uint64_t opcode, Number(1));
      if ((offset_ == 0) != (opcode == pickle_op::kProto)) {
        return DataLoss("the pickle must begin with its protocol and name it once; found ",
                        OpcodeText(static_cast<uint8_t>(opcode)), At());
      }
      TESSERA_RETURN_IF_ERROR(Do(static_cast<uint8_t>(opcode)));
    }
    if (next_ != bytes_.size()) {
      return DataLoss("the pickle ends at byte ", next_, ", but ", bytes_.size(), " were given");
    }
    return std::move(pickle_);
  }

 private:
  absl::Status Do(uint8_t opcode) {
    switch (opcode) {
      case pickle_op::kProto:
        return Proto();
      case pickle_op::kFrame:
        return Frame();
      case pickle_op::kStop:
        return Stop();
      case pickle_op::kMark:
        marks_.push_back(stack_.size());
        return absl::OkStatus();
      case pickle_op::kMemoize:
        return Put(memo_.size());
      case pickle_op::kBinPut:
        return PutNumbered(1);
      case pickle_op::kLongBinPut:
        return PutNumbered(4);
      case pickle_op::kBinGet:
        return Get(1);
      case pickle_op::kLongBinGet:
        return Get(4);
      default:
        return DoPlain(opcode);
    }
  }

  absl::Status DoPlain(uint8_t opcode) {
    switch (opcode) {
      case pickle_op::kNone:
        return Push({});
      case pickle_op::kNewTrue:
      case pickle_op::kNewFalse:
        return Push({PickleKind::kBool, 0, opcode == pickle_op::kNewTrue ? 1u : 0u});
      case pickle_op::kBinInt1:
        return UnsignedInteger(1);
      case pickle_op::kBinInt2:
        return UnsignedInteger(2);
      case pickle_op::kBinInt:
        return SignedInteger(4);
      case pickle_op::kLong1:
        return Long1();
      case pickle_op::kBinFloat:
        return BinFloat();
      case pickle_op::kShortBinUnicode:
        return Text(1);
      case pickle_op::kBinUnicode:
        return Text(4);
      default:
        return DoContainer(opcode);
    }
  }

  absl::Status DoContainer(uint8_t opcode) {
    switch (opcode) {
      case pickle_op::kEmptyTuple:
        return Tuple(stack_.size());
      case pickle_op::kTuple1:
      case pickle_op::kTuple2:
      case pickle_op::kTuple3:
        return TupleOfLast(size_t{opcode} - pickle_op::kTuple1 + 1);
      case pickle_op::kTuple:
        return TupleFromMark();
      case pickle_op::kEmptyList:
        pickle_.lists_.emplace_back();
        return Push({PickleKind::kList, 0, pickle_.lists_.size() - 1});
      case pickle_op::kAppend:
        return stack_.size() == Floor() ? Underflow() : Append(stack_.size() - 1);
      case pickle_op::kAppends:
        return Appends();
      case pickle_op::kStackGlobal:
        return StackGlobal();
      case pickle_op::kNewObj:
        return NewObj();
      case pickle_op::kReduce:
        return Reduce();
      case pickle_op::kBuild:
        return Build();
      default:
        return Unimplemented(OpcodeText(opcode), At(), " is none that plain data needs");
    }
  }

  static std::string OpcodeText(uint8_t opcode) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text = Concat("pickle opcode 0x", kDigits[opcode >> 4], kDigits[opcode & 15]);
    if (opcode > 0x20 && opcode < 0x7f) text += Concat(" '", static_cast<char>(opcode), "'");
    return text;
  }
  std::string At() const { return Concat(" at byte ", offset_); }
  absl::Status Underflow() const {
    return DataLoss("the pickle's opcode", At(), " takes more values than there are");
  }

  // The lowest place that an opcode may take from: values below the last mark are out of reach.
  size_t Floor() const { return marks_.empty() ? 0 : marks_.back(); }

  absl::Status Push(PickleValue value) {
    stack_.push_back(value);
    return absl::OkStatus();
  }
  absl::StatusOr<PickleValue> Pop() {
    if (stack_.size() == Floor()) return Underflow();
    const PickleValue value = stack_.back();
    stack_.pop_back();
    return value;
  }
  absl::StatusOr<size_t> PopMark() {
    if (marks_.empty())
      return DataLoss("the pickle's opcode", At(), " wants a mark that is not there");
    const size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }

  absl::StatusOr<std::span<const std::byte>> Take(uint64_t count) {
    if (count > bytes_.size() - next_) {
      return DataLoss("the pickle's opcode", At(), " wants ", count, " bytes more than the ",
                      bytes_.size(), " that were given allow");
    }
    const auto taken = bytes_.subspan(next_, static_cast<size_t>(count));
    next_ += static_cast<size_t>(count);
    return taken;
  }
  // Little-endian, of at most 8 bytes.
  absl::StatusOr<uint64_t> Number(size_t count) {
    TESSERA_ASSIGN_OR_RETURN(const auto bytes, Take(count));
    uint64_t number = 0;
    for (size_t i = count; i-- > 0;) number = number << 8 | static_cast<uint64_t>(bytes[i]);
    return number;
  }

  absl::Status Proto() {
    TESSERA_ASSIGN_OR_RETURN(const uint64_t protocol, Number(1));
    if (protocol >= 2 && protocol <= 5) return absl::OkStatus();
    return Unimplemented("pickle protocol ", protocol, ", of which 2 to 5 are read");
  }
  absl::Status Frame() {
    TESSERA_ASSIGN_OR_RETURN(const uint64_t length, Number(8));
    if (length <= bytes_.size() - next_) return absl::OkStatus();
    return DataLoss("the pickle's frame", At(), " has ", length, " bytes, but ",
                    bytes_.size() - next_, " follow");
  }
  absl::Status Stop() {
    TESSERA_ASSIGN_OR_RETURN(pickle_.root_, Pop());
    if (!stack_.empty() || !marks_.empty()) {
      return DataLoss("the pickle ends", At(), " with more than one value");
    }
    stopped_ = true;
    return absl::OkStatus();
  }

  absl::Status Put(uint64_t slot) {
    if (stack_.size() == Floor()) return Underflow();
    if (slot > memo_.size()) {
      return DataLoss("the pickle's opcode", At(), " fills memo slot ", slot, " before slot ",
                      memo_.size());
    }
    if (slot == memo_.size()) memo_.emplace_back();
    memo_[static_cast<size_t>(slot)] = stack_.back();
    return absl::OkStatus();
  }
  absl::Status PutNumbered(size_t bytes) {
    TESSERA_ASSIGN_OR_RETURN(const uint64_t slot, Number(bytes));
    return Put(slot);
  }
  absl::Status Get(size_t bytes) {
    TESSERA_ASSIGN_OR_RETURN(const uint64_t slot, Number(bytes));
    if (slot < memo_.size()) return Push(memo_[static_cast<size_t>(slot)]);
    return DataLoss("the pickle's opcode", At(), " asks for memo slot ", slot, " of ",
                    memo_.size());
  }

  absl::Status UnsignedInteger(size_t bytes) {
    TESSERA_ASSIGN_OR_RETURN(const uint64_t number, Number(bytes));
    return Push({PickleKind::kInteger, 0, number});
  }
  // Two's complement of at most 8 bytes.
  absl::Status SignedInteger(size_t bytes) {
    TESSERA_ASSIGN_OR_RETURN(uint64_t number, Number(bytes));
    if (bytes > 0 && bytes < 8 && (number >> (8 * bytes - 1)) != 0) {
      number |= ~uint64_t{0} << (8 * bytes);
    }
    return Push({PickleKind::kInteger, 0, number});
  }
  absl::Status Long1() {
    TESSERA_ASSIGN_OR_RETURN(const uint64_t bytes, Number(1));
    if (bytes <= 8) return SignedInteger(static_cast<size_t>(bytes));
    return Unimplemented("the pickle's integer", At(), " has ", bytes,
                         " bytes, of which at most 8 are read");
  }
  absl::Status BinFloat() {
    TESSERA_ASSIGN_OR_RETURN(const auto bytes, Take(8));
    uint64_t bits = 0;  // big-endian, alone among a pickle's numbers
    for (const std::byte byte : bytes) bits = bits << 8 | static_cast<uint64_t>(byte);
    return Push({PickleKind::kFloat, 0, bits});
  }
  absl::Status Text(size_t length_bytes) {
    TESSERA_ASSIGN_OR_RETURN(const uint64_t length, Number(length_bytes));
    const size_t begin = next_;
    TESSERA_RETURN_IF_ERROR(Take(length));
    return Push({PickleKind::kText, static_cast<uint32_t>(length), begin});
  }

  // Of the values from `begin` on.
  absl::Status Tuple(size_t begin) {
    std::vector<PickleValue>& items = pickle_.items_;
    const PickleValue tuple{PickleKind::kTuple, static_cast<uint32_t>(stack_.size() - begin),
                            items.size()};
    items.insert(items.end(), stack_.begin() + static_cast<ptrdiff_t>(begin), stack_.end());
    stack_.resize(begin);
    return Push(tuple);
  }
  absl::Status TupleOfLast(size_t count) {
    if (stack_.size() - Floor() < count) return Underflow();
    return Tuple(stack_.size() - count);
  }
  absl::Status TupleFromMark() {
    TESSERA_ASSIGN_OR_RETURN(const size_t mark, PopMark());
    return Tuple(mark);
  }

  // The values from `begin` on go to the list before them.
  absl::Status Append(size_t begin) {
    if (begin <= Floor()) return Underflow();
    const PickleValue target = stack_[begin - 1];
    if (target.kind != PickleKind::kList) {
      return Unimplemented("the pickle appends to a ", PickleKindName(target.kind), At(),
                           ", not to a list");
    }
    std::vector<PickleValue>& list = pickle_.lists_[static_cast<size_t>(target.bits)];
    list.insert(list.end(), stack_.begin() + static_cast<ptrdiff_t>(begin), stack_.end());
    stack_.resize(begin);
    return absl::OkStatus();
  }
  absl::Status Appends() {
    TESSERA_ASSIGN_OR_RETURN(const size_t mark, PopMark());
    return Append(mark);
  }

  absl::Status StackGlobal() {
    TESSERA_ASSIGN_OR_RETURN(const PickleValue name, Pop());
    TESSERA_ASSIGN_OR_RETURN(const PickleValue module, Pop());
    if (name.kind != PickleKind::kText || module.kind != PickleKind::kText) {
      return DataLoss("the pickle names a global by a ", PickleKindName(module.kind), " and a ",
                      PickleKindName(name.kind), At());
    }
    pickle_.globals_.push_back({pickle_.Text(module), pickle_.Text(name)});
    return Push({PickleKind::kGlobal, 0, pickle_.globals_.size() - 1});
  }

  bool IsGlobal(const PickleValue& value, std::span<const PickleGlobal> known) const {
    return value.kind == PickleKind::kGlobal &&
           std::find(known.begin(), known.end(), pickle_.Global(value)) != known.end();
  }
  absl::Status Refused(std::string_view what, const PickleValue& value) const {
    std::string name(PickleKindName(value.kind));
    if (value.kind == PickleKind::kGlobal) {
      name = Concat(pickle_.Global(value).module, ".", pickle_.Global(value).name);
    }
    return Unimplemented("the pickle ", what, " ", name, At(), ", which is not done");
  }

  absl::Status NewObj() {
    TESSERA_ASSIGN_OR_RETURN(const PickleValue arguments, Pop());
    TESSERA_ASSIGN_OR_RETURN(const PickleValue type, Pop());
    const bool plain = arguments.kind == PickleKind::kTuple && arguments.size == 0;
    if (!IsGlobal(type, kTreeDefNames) || !plain || has_tree_def_) {
      return Refused("makes an object of", type);
    }
    has_tree_def_ = true;
    return Push({PickleKind::kTreeDef, 0, 0});
  }
  absl::Status Reduce() {
    TESSERA_ASSIGN_OR_RETURN(const PickleValue arguments, Pop());
    TESSERA_ASSIGN_OR_RETURN(const PickleValue function, Pop());
    static constexpr std::array<PickleGlobal, 1> kComplex{{{"builtins", "complex"}}};
    if (!IsGlobal(function, kComplex) || arguments.kind != PickleKind::kTuple ||
        arguments.size != 2) {
      return Refused("calls", function);
    }
    for (const PickleValue& part : pickle_.Items(arguments)) {
      if (part.kind != PickleKind::kFloat) return Refused("calls", function);
    }
    return Push({PickleKind::kComplex, 2, arguments.bits});
  }
  absl::Status Build() {
    TESSERA_ASSIGN_OR_RETURN(const PickleValue state, Pop());
    if (stack_.size() == Floor()) return Underflow();
    if (stack_.back().kind != PickleKind::kTreeDef || pickle_.state_.has_value()) {
      return Refused("sets the state of a", stack_.back());
    }
    pickle_.state_ = state;
    return absl::OkStatus();
  }

  Pickle pickle_;
  std::span<const std::byte> bytes_;
  size_t next_ = 0;
  size_t offset_ = 0;
  bool stopped_ = false;
  bool has_tree_def_ = false;
  std::vector<PickleValue> stack_;
  std::vector<size_t> marks_;
  std::vector<PickleValue> memo_;
};

absl::StatusOr<Pickle> Pickle::Decode(std::span<const std::byte> bytes) {
  return PickleMachine(bytes).Run();
}

bool Pickle::Truth(const PickleValue& value) const {
  TESSERA_CHECK(value.kind == PickleKind::kBool);
  return value.bits != 0;
}

int64_t Pickle::Integer(const PickleValue& value) const {
  TESSERA_CHECK(value.kind == PickleKind::kInteger);
  return static_cast<int64_t>(value.bits);
}

double Pickle::Float(const PickleValue& value) const {
  TESSERA_CHECK(value.kind == PickleKind::kFloat);
  return std::bit_cast<double>(value.bits);
}

std::string_view Pickle::Text(const PickleValue& value) const {
  TESSERA_CHECK(value.kind == PickleKind::kText);
  const auto text = bytes_.subspan(static_cast<size_t>(value.bits), value.size);
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

const PickleGlobal& Pickle::Global(const PickleValue& value) const {
  TESSERA_CHECK(value.kind == PickleKind::kGlobal);
  return globals_[static_cast<size_t>(value.bits)];
}

std::span<const PickleValue> Pickle::Items(const PickleValue& value) const {
  if (value.kind == PickleKind::kList) return lists_[static_cast<size_t>(value.bits)];
  TESSERA_CHECK(value.kind == PickleKind::kTuple || value.kind == PickleKind::kComplex);
  return std::span(items_).subspan(static_cast<size_t>(value.bits), value.size);
}

}  // namespace tessera::ledger
