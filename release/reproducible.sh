#!/usr/bin/env bash
# Builds the release of this commit in a clone elsewhere and compares it with dist/, which it builds first if it is not there. Both
# builds share what Go has compiled, by content; everything else is made twice. Arguments: platforms.
set -euo pipefail
[ -z "$(git status --porcelain)" ] || { echo "The checkout has changes that no commit has: commit them first." >&2; exit 1; }
[ -f dist/SHA256SUMS ] || make release PLATFORMS="$*"
elsewhere=$(mktemp -d)
trap 'rm -rf "$elsewhere"' EXIT
git clone --quiet --no-hardlinks . "$elsewhere/clone"
(cd "$elsewhere/clone" && git checkout --quiet "$(git -C "$OLDPWD" rev-parse HEAD)" && make release PLATFORMS="$*")
cmp dist/SHA256SUMS "$elsewhere/clone/dist/SHA256SUMS" || { diff dist/SHA256SUMS "$elsewhere/clone/dist/SHA256SUMS"; exit 1; }
echo "Both builds of $(git rev-parse --short HEAD) have the same bytes."
