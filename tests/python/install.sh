#!/usr/bin/env bash
# Installs the package of this tree with pip, without a network, into an environment that also sees
# what is in build/venv.
#
# usage: install.sh FOLDER [PIP_OPTION...]
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$1
shift
tools=build/venv/bin/python
[[ -x $folder/bin/python ]] || "$tools" -m venv "$folder"
site='import sysconfig; print(sysconfig.get_path("purelib"))'
"$tools" -c "$site" >"$("$folder/bin/python" -c "$site")/venv.pth"
# The build folder is kept, and ccache knows what the preset has compiled.
exec "$folder/bin/python" -m pip install --disable-pip-version-check --no-index --no-deps \
  --no-build-isolation --force-reinstall "$@" .
