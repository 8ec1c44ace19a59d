# Makes page.cc of the files of page/.
#
#   cmake -D OUT=page.cc -D FOLDER=page -D SCRIPTS=a.js,b.js -P embed.cmake
string(REPLACE "," ";" names "${SCRIPTS}")
set(SCRIPT "")
foreach(name IN LISTS names)
  file(READ ${FOLDER}/${name} text)
  string(APPEND SCRIPT "${text}")
endforeach()
# A function, so that its names are its own.
string(PREPEND SCRIPT "\n(() => {\n'use strict';\n")
string(APPEND SCRIPT "})();\n")
file(READ ${FOLDER}/atlas.html TEMPLATE)
file(READ ${FOLDER}/atlas.css STYLE)
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [==[
#include "tessera/atlas/page.h"

namespace tessera::atlas {

std::string_view PageTemplate() { return R"__page__(@TEMPLATE@)__page__"; }
std::string_view PageStyle() { return R"__page__(@STYLE@)__page__"; }
std::string_view PageScript() { return R"__page__(@SCRIPT@)__page__"; }

}  // namespace tessera::atlas
]==])
