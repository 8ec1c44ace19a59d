// UTF-8 text: reading and writing code points, and quoting it in messages.
#ifndef TESSERA_CORE_TEXT_H_
#define TESSERA_CORE_TEXT_H_

#include <string>
#include <string_view>

namespace tessera {

bool IsAscii(std::string_view text);

// The code points of `text`.  REQUIRES: `text` is valid.
std::u32string DecodeUtf8(std::string_view text);

// Appends `c` to `text`.  REQUIRES: `c` is at most U+10FFFF and no surrogate.
void AppendUtf8(char32_t c, std::string& text);

// `text` in single quotes, fit for a message: control characters and bytes that are not UTF-8
// become \xNN, and a long text is cut.
std::string Quoted(std::string_view text);

}  // namespace tessera

#endif  // TESSERA_CORE_TEXT_H_
