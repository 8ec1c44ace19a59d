#include "tessera/python/py_tree.h"

#include <nanobind/stl/string.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/core/status.h"
#include "tessera/python/errors.h"
#include "tessera/python/node_hook.h"
#include "tessera/tree/walk.h"

namespace tessera::python {

namespace nb = nanobind;
using tree::DictKey;
using tree::NodeDef;
using tree::NodeKind;

namespace {

std::string TextOf(nb::handle object) { return Utf8Of(nb::str(object)); }

std::string NameOfType(nb::handle type) {
  return Concat(TextOf(type.attr("__module__")), ":", TextOf(type.attr("__qualname__")));
}

// nullopt: the key is of a kind that trees do not know.
std::optional<DictKey> PlainKey(nb::handle key) {
  if (PyUnicode_CheckExact(key.ptr())) return DictKey(Utf8Of(key));
  if (PyBool_Check(key.ptr())) return DictKey(key.ptr() == Py_True);
  if (PyLong_CheckExact(key.ptr())) {
    int overflow = 0;
    const int64_t number = PyLong_AsLongLongAndOverflow(key.ptr(), &overflow);
    if (overflow == 0) return DictKey(number);
  }
  if (PyTuple_CheckExact(key.ptr())) {
    DictKey::TupleElements elements;
    for (const nb::handle element : nb::borrow<nb::tuple>(key)) {
      std::optional<DictKey> plain = PlainKey(element);
      if (!plain.has_value()) return std::nullopt;
      elements.push_back(*std::move(plain));
    }
    return Unwrap(DictKey::Tuple(std::move(elements)));
  }
  return std::nullopt;
}

nb::object ObjectOf(const DictKey& key) {
  if (const std::string* text = key.text()) return nb::cast(*text);
  if (const int64_t* number = key.number()) return nb::cast(*number);
  if (const bool* truth = key.truth()) return nb::cast(*truth);
  nb::list elements;
  for (const DictKey& element : *key.tuple()) elements.append(ObjectOf(element));
  return nb::tuple(elements);
}

nb::handle CollectionsType(const char* name) {
  static auto* types = new nb::dict;
  if (!types->contains(name)) (*types)[name] = nb::module_::import_("collections").attr(name);
  return (*types)[name];
}

bool IsExactly(nb::handle object, nb::handle type) {
  return reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == type.ptr();
}

class Reader {
 public:
  Reader(const FromPythonOptions& options, TreeShapes& shapes)
      : options_(options), shapes_(shapes) {}

  ObjectTree Read(nb::handle object, size_t depth) {
    if (depth > tree::kDefaultMaxDepth) {
      throw nb::value_error("the tree is nested too deeply, or contains itself");
    }
    if (CallerSaysLeaf(object)) return Leaf(object);
    PyObject* raw = object.ptr();
    if (object.is_none()) return options_.none_is_leaf ? Leaf(object) : ObjectTree::None();
    if (PyDict_CheckExact(raw)) return Mapping(NodeKind::kDict, object, depth);
    if (PyList_CheckExact(raw)) return ObjectTree::List(Children(object, depth));
    if (PyTuple_CheckExact(raw)) return ObjectTree::Tuple(Children(object, depth));
    if (IsPlainLeaf(raw)) return Leaf(object);
    if (IsExactly(object, CollectionsType("OrderedDict"))) {
      return Mapping(NodeKind::kOrderedDict, object, depth);
    }
    if (IsExactly(object, CollectionsType("defaultdict"))) {
      return Mapping(NodeKind::kDefaultDict, object, depth);
    }
    const nb::object node = GetHook(Hook::kFlattenNode)(object);
    if (!node.is_none()) return Registered(nb::borrow<nb::tuple>(node), depth);
    if (PyTuple_Check(raw) && nb::hasattr(object, "_fields")) return NamedTuple(object, depth);
    return Leaf(object);
  }

 private:
  static ObjectTree Leaf(nb::handle object) { return ObjectTree::Leaf(nb::borrow(object)); }

  static bool IsPlainLeaf(PyObject* object) {
    return PyFloat_CheckExact(object) || PyLong_CheckExact(object) ||
           PyUnicode_CheckExact(object) || PyBool_Check(object);
  }

  bool CallerSaysLeaf(nb::handle object) {
    if (options_.is_leaf.is_none()) return false;
    const nb::object answer = options_.is_leaf(object);
    if (answer.is_none()) return false;
    if (!PyBool_Check(answer.ptr())) {
      const std::string text =
          Concat("is_leaf must return a bool, not ", NameOfType(answer.type()));
      throw nb::value_error(text.c_str());
    }
    return answer.ptr() == Py_True;
  }

  std::vector<ObjectTree> Children(nb::handle sequence, size_t depth) {
    std::vector<ObjectTree> children;
    children.reserve(nb::len(sequence));
    for (const nb::handle child : sequence) children.push_back(Read(child, depth + 1));
    return children;
  }

  ObjectTree Mapping(NodeKind kind, nb::handle object, size_t depth) {
    ObjectTree::Items items;
    std::vector<std::pair<DictKey, nb::object>> keys;
    bool plain = true;
    for (const auto [key, value] : nb::borrow<nb::dict>(object)) {
      std::optional<DictKey> known = PlainKey(key);
      if (!known.has_value()) {
        plain = false;
        known = DictKey(TextOf(key));
      }
      keys.emplace_back(*known, nb::borrow(key));
      items.emplace_back(*std::move(known), Read(value, depth + 1));
    }
    NodeShape shape;
    ObjectTree made = Unwrap(MakeMapping(kind, object, std::move(items), shape));
    if (!plain) shape.keys = InOrderOf(*made.def(), keys);
    if (!plain || kind == NodeKind::kDefaultDict) shapes_.Add(made.def(), std::move(shape));
    return made;
  }

  static absl::StatusOr<ObjectTree> MakeMapping(NodeKind kind, nb::handle object,
                                                ObjectTree::Items items, NodeShape& shape) {
    if (kind == NodeKind::kDict) return ObjectTree::Dict(std::move(items));
    if (kind == NodeKind::kOrderedDict) return ObjectTree::OrderedDict(std::move(items));
    shape.maker = object.attr("default_factory");
    std::string factory;
    if (!shape.maker.is_none()) factory = TextOf(nb::getattr(shape.maker, "__name__", shape.maker));
    return ObjectTree::DefaultDict(std::move(factory), std::move(items));
  }

  static std::vector<nb::object> InOrderOf(
      const NodeDef& def, const std::vector<std::pair<DictKey, nb::object>>& given) {
    std::vector<nb::object> keys(given.size());
    for (size_t i = 0; i < given.size(); ++i) keys[def.GivenAt(i)] = given[i].second;
    return keys;
  }

  ObjectTree NamedTuple(nb::handle object, size_t depth) {
    ObjectTree::Fields fields;
    size_t i = 0;
    for (const nb::handle name : nb::borrow(object.attr("_fields"))) {
      fields.emplace_back(TextOf(name), Read(object[i++], depth + 1));
    }
    ObjectTree made = Unwrap(ObjectTree::NamedTuple(NameOfType(object.type()), std::move(fields)));
    shapes_.Add(made.def(), {.maker = nb::borrow(object.type()), .keys = {}});
    return made;
  }

  // (type name, names or None, children, function that makes it again, static data as text).
  ObjectTree Registered(const nb::tuple& node, size_t depth) {
    std::string type = nb::cast<std::string>(node[0]);
    std::string data = nb::cast<std::string>(node[4]);
    std::vector<ObjectTree> children = Children(node[2], depth);
    absl::StatusOr<ObjectTree> made = absl::UnknownError("");
    if (nb::handle(node[1]).is_none()) {
      made = ObjectTree::Custom(std::move(type), std::move(data), std::move(children));
    } else {
      ObjectTree::Fields fields;
      size_t i = 0;
      for (const nb::handle name : nb::borrow(node[1])) {
        fields.emplace_back(TextOf(name), std::move(children[i++]));
      }
      made = ObjectTree::CustomWithNames(std::move(type), std::move(data), std::move(fields));
    }
    ObjectTree result = Unwrap(std::move(made));
    shapes_.Add(result.def(), {.maker = nb::borrow(node[3]), .keys = {}});
    return result;
  }

  const FromPythonOptions& options_;
  TreeShapes& shapes_;
};

nb::object MakeDict(const NodeDef& def, const NodeShape* shape,
                    const std::vector<nb::object>& children) {
  nb::dict dict;
  for (size_t i = 0; i < children.size(); ++i) {
    const size_t at = def.GivenAt(i);
    const bool kept = shape != nullptr && !shape->keys.empty();
    dict[kept ? shape->keys[at] : ObjectOf(def.keys[at])] = children[at];
  }
  return dict;
}

nb::list ListOf(const std::vector<nb::object>& children) {
  nb::list list;
  for (const nb::object& child : children) list.append(child);
  return list;
}

// A container whose class nobody here has seen.
nb::object MakeNamed(const NodeDef& def, const std::vector<nb::object>& children) {
  nb::list names;
  for (const DictKey& key : def.keys) names.append(key.ToText());
  nb::dict statics;
  for (const auto& field : def.static_fields) statics[field.first.c_str()] = field.second;
  return GetHook(Hook::kMakeNode)(std::string(NodeKindName(def.kind)), def.type_name,
                                  def.keys.empty() ? nb::object(nb::none()) : nb::object(names),
                                  statics, def.static_data, ListOf(children));
}

}  // namespace

nb::object TreeShapes::Make(const NodeDef& def, std::vector<nb::object> children) const {
  const auto found = shapes_.find(&def);
  const NodeShape* shape = found == shapes_.end() ? nullptr : &found->second.second;
  switch (def.kind) {
    case NodeKind::kList:
      return ListOf(children);
    case NodeKind::kTuple:
      return nb::tuple(ListOf(children));
    case NodeKind::kDict:
      return MakeDict(def, shape, children);
    case NodeKind::kOrderedDict:
      return CollectionsType("OrderedDict")(MakeDict(def, shape, children));
    case NodeKind::kDefaultDict:
      if (shape == nullptr) break;
      return CollectionsType("defaultdict")(shape->maker, MakeDict(def, shape, children));
    case NodeKind::kNamedTuple:
      if (shape == nullptr) break;
      return shape->maker(*nb::tuple(ListOf(children)));
    default:
      if (shape == nullptr) break;
      return shape->maker(ListOf(children));
  }
  return MakeNamed(def, children);
}

PythonTree FromPython(nb::handle object, const FromPythonOptions& options) {
  auto shapes = std::make_shared<TreeShapes>();
  ObjectTree tree = Reader(options, *shapes).Read(object, 0);
  return {std::move(tree), std::move(shapes)};
}

}  // namespace tessera::python
