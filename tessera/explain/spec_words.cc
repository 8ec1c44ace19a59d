#include "tessera/explain/spec_words.h"

#include <cstdio>

#include "tessera/core/status.h"

namespace tessera::explain {

std::string MeshWord(const mesh::Mesh& mesh) {
  std::string text;
  for (const mesh::Axis& axis : mesh.axes()) {
    text += Concat(text.empty() ? "" : ",", axis.name, "=", axis.size);
  }
  return text;
}

std::string AxesText(const mesh::SpecEntry& entry, const mesh::Mesh& mesh) {
  std::string text;
  for (const std::string& name : entry.axes()) {
    const auto axis = mesh.FindAxis(name);
    text += Concat(text.empty() ? "" : " x ", name);
    if (axis.has_value()) text += Concat("=", mesh.axes()[*axis].size);
  }
  return text;
}

std::string CorrectionText(const mesh::Correction& correction, DimsView shape,
                           const mesh::Mesh& mesh) {
  const int d = correction.dimension;
  switch (correction.reason) {
    case mesh::CorrectionReason::kIndivisible:
      return Concat("dimension ", d, " of size ", shape[d], " is no multiple of ",
                    AxesText(correction.before, mesh));
    case mesh::CorrectionReason::kPastTheRank:
      return Concat("there is no dimension ", d, " to split over ",
                    AxesText(correction.before, mesh));
    default:
      return correction.Text();
  }
}

std::string Rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", value);
  return text;
}

}  // namespace tessera::explain
