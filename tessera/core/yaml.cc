#include "tessera/core/yaml.h"

#include <algorithm>
#include <string>
#include <utility>

#include <yaml.h>
#include <nlohmann/json.hpp>

#include "tessera/core/status.h"
#include "tessera/core/text.h"
#include "tessera/core/yaml_scalar.h"

namespace tessera {
namespace {

// One event of the parser, given back when it is done with.
class Event {
 public:
  Event() = default;
  ~Event() { yaml_event_delete(&event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  yaml_event_t* operator->() { return &event_; }
  yaml_event_t* get() { return &event_; }

 private:
  yaml_event_t event_ = {};
};

std::string At(int64_t line, int64_t column) {
  return Concat("bad YAML at line ", line, ", column ", column, ": ");
}

std::string At(const yaml_mark_t& mark) {
  return At(static_cast<int64_t>(mark.line) + 1, static_cast<int64_t>(mark.column) + 1);
}

std::string At(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const size_t newline = before.rfind('\n');
  const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  return At(std::count(before.begin(), before.end(), '\n') + 1,
            static_cast<int64_t>(before.size() - begin) + 1);
}

class Reader {
 public:
  Reader(std::string_view text, std::vector<int64_t>* item_lines)
      : text_(text), item_lines_(item_lines) {
    TESSERA_CHECK(yaml_parser_initialize(&parser_) == 1);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~Reader() { yaml_parser_delete(&parser_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  absl::StatusOr<Json> Document() {
    Json root;
    for (bool has_document = false;;) {
      Event event;
      TESSERA_RETURN_IF_ERROR(Next(event));
      if (event->type == YAML_STREAM_END_EVENT) return root;
      if (event->type != YAML_DOCUMENT_START_EVENT) continue;
      if (has_document) return Bad(event, "a second document begins here; expected one");
      has_document = true;
      Event first;
      TESSERA_RETURN_IF_ERROR(Next(first));
      TESSERA_ASSIGN_OR_RETURN(root, Node(first));
    }
  }

 private:
  absl::Status Next(Event& event) {
    if (yaml_parser_parse(&parser_, event.get()) == 1) return absl::OkStatus();
    const std::string problem = parser_.problem != nullptr ? parser_.problem : "it cannot be read";
    if (parser_.error == YAML_READER_ERROR) {
      return InvalidArgument(At(text_, parser_.problem_offset), problem);
    }
    std::string text = At(parser_.problem_mark) + problem;
    if (parser_.context != nullptr) {
      text += Concat(" (", parser_.context, " that begins in line ", parser_.context_mark.line + 1,
                     ")");
    }
    return InvalidArgument(text);
  }

  absl::Status Bad(Event& event, std::string_view what) const {
    return InvalidArgument(At(event->start_mark), what);
  }

  absl::StatusOr<Json> Node(Event& event) {
    switch (event->type) {
      case YAML_SCALAR_EVENT:
        return Scalar(event);
      case YAML_SEQUENCE_START_EVENT:
        TESSERA_RETURN_IF_ERROR(
            Enter(event, event->data.sequence_start.anchor, event->data.sequence_start.tag));
        return Sequence();
      case YAML_MAPPING_START_EVENT:
        TESSERA_RETURN_IF_ERROR(
            Enter(event, event->data.mapping_start.anchor, event->data.mapping_start.tag));
        return Mapping();
      case YAML_ALIAS_EVENT:
        return Bad(event, "aliases are not supported here; write the value out");
      default:
        return Bad(event, "expected a value");
    }
  }

  absl::Status CheckPlain(Event& event, const yaml_char_t* anchor, const yaml_char_t* tag) const {
    if (anchor != nullptr) return Bad(event, "anchors are not supported here");
    if (tag != nullptr) return Bad(event, "tags are not supported here");
    return absl::OkStatus();
  }

  absl::Status Enter(Event& event, const yaml_char_t* anchor, const yaml_char_t* tag) {
    TESSERA_RETURN_IF_ERROR(CheckPlain(event, anchor, tag));
    if (++depth_ > kMaxYamlDepth) return Bad(event, Concat("it nests deeper than ", kMaxYamlDepth));
    return absl::OkStatus();
  }

  absl::StatusOr<Json> Sequence() {
    Json list = Json::array();
    for (;;) {
      Event event;
      TESSERA_RETURN_IF_ERROR(Next(event));
      if (event->type == YAML_SEQUENCE_END_EVENT) break;
      if (depth_ == 1 && item_lines_ != nullptr) {
        item_lines_->push_back(static_cast<int64_t>(event->start_mark.line) + 1);
      }
      TESSERA_ASSIGN_OR_RETURN(Json item, Node(event));
      list.push_back(std::move(item));
    }
    --depth_;
    return list;
  }

  absl::StatusOr<Json> Mapping() {
    Json object = Json::object();
    for (;;) {
      Event key;
      TESSERA_RETURN_IF_ERROR(Next(key));
      if (key->type == YAML_MAPPING_END_EVENT) break;
      TESSERA_ASSIGN_OR_RETURN(std::string name, Key(key));
      if (object.contains(name)) {
        return Bad(key, Concat("the key ", Quoted(name), " stands twice in one mapping"));
      }
      Event value;
      TESSERA_RETURN_IF_ERROR(Next(value));
      TESSERA_ASSIGN_OR_RETURN(Json item, Node(value));
      object.emplace(std::move(name), std::move(item));
    }
    --depth_;
    return object;
  }

  static std::string_view TextOf(Event& event) {
    const auto& scalar = event->data.scalar;
    return {reinterpret_cast<const char*>(scalar.value), scalar.length};
  }

  // As it is written, as JSON has no other keys than texts.
  absl::StatusOr<std::string> Key(Event& event) {
    if (event->type == YAML_ALIAS_EVENT) return Node(event).status();
    if (event->type != YAML_SCALAR_EVENT) return Bad(event, "a key must be a scalar");
    TESSERA_RETURN_IF_ERROR(CheckPlain(event, event->data.scalar.anchor, event->data.scalar.tag));
    return std::string(TextOf(event));
  }

  absl::StatusOr<Json> Scalar(Event& event) {
    const auto& scalar = event->data.scalar;
    TESSERA_RETURN_IF_ERROR(CheckPlain(event, scalar.anchor, scalar.tag));
    if (scalar.style != YAML_PLAIN_SCALAR_STYLE) return Json(std::string(TextOf(event)));
    auto value = ResolvePlainScalar(TextOf(event));
    if (value.ok()) return value;
    const auto message = value.status().message();
    return Bad(event, std::string_view(message.data(), message.size()));
  }

  std::string_view text_;
  std::vector<int64_t>* item_lines_;
  yaml_parser_t parser_;
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<Json> ParseYaml(std::string_view text, std::vector<int64_t>* item_lines) {
  if (text.size() > kMaxYamlBytes) {
    return InvalidArgument("bad YAML: ", text.size(), " bytes; at most ", kMaxYamlBytes,
                           " are supported");
  }
  return Reader(text, item_lines).Document();
}

}  // namespace tessera
