#!/usr/bin/env bash
# Installs a build to a fresh prefix, builds the consumer outside the tree with CMake and with
# pkg-config, and compares what the two programs print.
#
# usage: run.sh BUILD_DIR CXX
set -euo pipefail
source_dir=$(cd "$(dirname "$0")" && pwd)
build_dir=$1 cxx=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

fail() {
  echo "consumer: $*" >&2
  exit 1
}

cmake --install "$build_dir" --prefix "$prefix" >"$work/install.log"
pc_dir=$(dirname "$(find "$prefix" -name tessera.pc)")
if grep -rF --include='*.cmake' --include='*.pc' "$prefix" \
  -e "$build_dir" -e "${source_dir%/tests/consumer}"; then
  fail "an installed file names the tree that it was built in"
fi
if find "$prefix" -name '*_test*' -o -name CMakeLists.txt -o -name testing | grep .; then
  fail "the files above belong to the tree, not to its users"
fi

mkdir "$work/consumer"
cp "$source_dir"/*.cc "$source_dir/CMakeLists.txt" "$work/consumer"

cmake -S "$work/consumer" -B "$work/build" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_PREFIX_PATH="$prefix"
cmake --build "$work/build"
by_cmake=$("$work/build/consumer")

export PKG_CONFIG_PATH=$pc_dir
package_flags=$(pkg-config --cflags --libs tessera)
read -r -a flags <<<"$package_flags"
"$cxx" -std=c++20 -c "$work/consumer/main.cc" -o "$work/main.o" "${flags[@]}"
"$cxx" "$work/main.o" -o "$work/by_pkg_config" "${flags[@]}"
by_pkg_config=$("$work/by_pkg_config")

all_flags=("${flags[@]}")
if [[ -f $pc_dir/tessera-mpi.pc ]]; then
  package_flags=$(pkg-config --cflags --libs tessera-mpi)
  read -r -a all_flags <<<"$package_flags"
  "$cxx" -std=c++20 "$work/consumer/mpi_main.cc" -o "$work/mpi_by_pkg_config" "${all_flags[@]}"
  for program in "$work/build/mpi_consumer" "$work/mpi_by_pkg_config"; do
    printed=$("$program")  # without mpirun a program is its only rank
    [[ $printed == "rank 0 of 1" ]] || fail "$program printed '$printed', not 'rank 0 of 1'"
  done
fi

# The command, from where it is installed; under mpirun it finds what speaks MPI from there.
printed=$("$prefix/bin/tessera" version | head -n 1)
[[ $printed =~ ^tessera\ [0-9.]+$ ]] || fail "bin/tessera printed '$printed', not its version"
if [[ -n $(find "$prefix" -name libtessera_mpi.so) ]]; then
  count=$(mpirun -n 2 "$prefix/bin/tessera" version | grep -cx "$printed" || true)
  [[ $count == 1 ]] || fail "of two ranks $count told the version, not the first alone"
fi

# With every object of every archive in the program, a library that tessera.pc forgot is missed
# here and not by the first user of that object.
mapfile -t archives < <(find "$prefix" -name 'libtessera_*.a')
"$cxx" "$work/main.o" -o "$work/whole" \
  -Wl,--whole-archive "${archives[@]}" -Wl,--no-whole-archive "${all_flags[@]}"

expected="2 bytes; NOT_FOUND: no step 7"
[[ $by_cmake == "$expected" ]] || fail "with CMake it printed '$by_cmake', not '$expected'"
[[ $by_pkg_config == "$expected" ]] ||
  fail "with pkg-config it printed '$by_pkg_config', not '$expected'"
echo "$expected"
