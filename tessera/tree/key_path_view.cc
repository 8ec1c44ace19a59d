#include "tessera/tree/key_path_view.h"

#include "tessera/core/status.h"

namespace tessera::tree {

std::string KeyPathView::Joined(std::string_view separator) const {
  std::string text;
  for (size_t i = 0; i < size(); ++i) {
    if (i > 0) text += separator;
    (*this)[i].AppendText(text);
  }
  return text;
}

std::string KeyPathView::Diagnostic() const {
  std::string text;
  for (size_t i = 0; i < size(); ++i) (*this)[i].AppendDiagnostic(text);
  return text;
}

std::vector<std::string> KeyPathView::Components() const {
  std::vector<std::string> components(size());
  for (size_t i = 0; i < size(); ++i) (*this)[i].AppendText(components[i]);
  return components;
}

KeyPath KeyPathView::ToKeyPath() const {
  std::vector<KeyEntry> entries;
  entries.reserve(size());
  for (const KeyStep& step : steps_) entries.push_back(SharedEntry(*step.container, step.child));
  return KeyPath(std::move(entries));
}

std::string KeyPathView::ForMessage() const {
  if (empty()) return "the root";
  if (size() <= kMostComponents) return Dotted();
  return Concat(KeyPathView(steps_.first(kMostComponents)).Dotted(), "... (",
                size() - kMostComponents, " more)");
}

}  // namespace tessera::tree
