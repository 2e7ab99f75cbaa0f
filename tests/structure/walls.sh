#!/bin/sh
# Makes the include directory of one module: $2/walls/MODULE/…/FOLDER, a link to the folder $1/FOLDER.
# A module with modules below it (report/) shares its own headers alone.
set -eu
source=$1 build=$2 module=$3
wall=$build/walls/$(printf '%s' "$module" | tr / _)
rm -rf "$wall"
mkdir -p "$wall/$(dirname "$module")"
if [ -z "$(find "$source/$module" -mindepth 2 -maxdepth 2 -name meson.build)" ]; then
	ln -s "$source/$module" "$wall/$module"
else
	mkdir "$wall/$module"
	for header in "$source/$module"/*.h; do
		ln -s "$header" "$wall/$module/"
	done
fi
