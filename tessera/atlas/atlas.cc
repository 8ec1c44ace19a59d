#include "tessera/atlas/atlas.h"

#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tessera/atlas/atlas_data.h"
#include "tessera/atlas/page.h"
#include "tessera/core/sha256.h"
#include "tessera/core/status.h"
#include "tessera/ledger/pickle_base64.h"

namespace tessera::atlas {
namespace {

// How a policy names a text that it lets in.
std::string PolicyHash(std::string_view text) {
  Sha256 hash;
  hash.Update(std::as_bytes(std::span(text)));
  return Concat("'sha256-", ledger::EncodeBase64(hash.Finish()), "'");
}

// Nothing but our own script and style; above all no address to send anything to.
std::string Policy() {
  return Concat(
      "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; script-src ",
      PolicyHash(PageScript()), "; style-src ", PolicyHash(PageStyle()));
}

std::string Filled(std::string_view place, const checkpoint::Checkpoint& checkpoint,
                   const explain::LoadExplanation& explanation, const AtlasOptions& options) {
  if (place == "POLICY") return Policy();
  if (place == "TITLE") return HtmlText(options.title);
  if (place == "STYLE") return std::string(PageStyle());
  if (place == "DATA") return ScriptText(AtlasData(checkpoint, explanation, options));
  TESSERA_CHECK(place == "SCRIPT");
  return std::string(PageScript());
}

}  // namespace

std::string AtlasHtml(const checkpoint::Checkpoint& checkpoint,
                      const explain::LoadExplanation& explanation, const AtlasOptions& options) {
  std::string html;
  std::string_view rest = PageTemplate();
  // The template is ours and has no other @; what is filled in is not looked through.
  while (true) {
    const size_t begin = rest.find('@');
    html += rest.substr(0, begin);
    if (begin == std::string_view::npos) return html;
    const size_t end = rest.find('@', begin + 1);
    html += Filled(rest.substr(begin + 1, end - begin - 1), checkpoint, explanation, options);
    rest.remove_prefix(end + 1);
  }
}

}  // namespace tessera::atlas
