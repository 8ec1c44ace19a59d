#!/bin/sh
# Links a program with the archive of each library that has one beside its shared object, so that
# it needs few files where it is copied to.
#
# usage: link_archives.sh COMPILER ARGUMENT...
#
# A shared object knows what it needs, an archive does not: what blosc's needs is added here.  As
# the order of archives matters to a linker, they are searched until nothing is missing any more.
# Debian's archive of xxHash lacks the functions that choose code by the processor.
set -eu
extra="" count=$#
while [ "$count" -gt 0 ]; do
  argument=$1 count=$((count - 1))
  shift
  case $argument in
    */libxxhash.so) ;;
    /*.so | /*.so.*)
      archive=${argument%%.so*}.a
      if [ -f "$archive" ]; then
        argument=$archive
        case ${archive##*/} in
          libblosc.a) extra="$extra ${archive%/*}/liblz4.a ${archive%/*}/libsnappy.a" ;;
        esac
      fi
      ;;
  esac
  set -- "$@" "$argument"
done
compiler=$1
shift
# shellcheck disable=SC2086  # one word is one archive
exec "$compiler" -Wl,--start-group "$@" $extra -Wl,--end-group
