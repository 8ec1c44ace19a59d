# shellcheck shell=bash
# What the scripts of tools/ share.  Sourced from the root of the tree, not run.

say() { printf '== %s\n' "$*"; }

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 2
}

# Prints the comment block that opens a script, which is its help.
usage() { sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0"; }

# need_count FLAG VALUE: stops unless VALUE is a whole number of at least 1.
need_count() {
  [[ ${2-} =~ ^[1-9][0-9]*$ ]] || die "$1 takes a whole number of at least 1, found '${2-}'"
}
