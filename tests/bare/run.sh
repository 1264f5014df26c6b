#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
usage='Usage: tests/bare/run.sh [--at DIRECTORY] [--limit SECONDS] [--keep]

Run the three commands of README.md, `make try`, `make deps && make demo` and `make test`, on a bare Debian 12 to which git
and make were added: a chroot that debootstrap makes (variant minbase), with this machine'"'"'s sources, keyrings and proxy
settings of apt, with /proc and /dev, and with nothing else of this machine.  The committed state of this tree is cloned there
to a path with a blank.  The first command has 10 seconds, and runs in a copy of the chroot with gcc and libc6-dev, which the
second one must install by itself.  It needs root, debootstrap, a mirror, 5 GB, and 10 to 20 minutes on two processors.

  --at DIRECTORY    where the chroot is made, in a folder of its own (default: $TMPDIR or /tmp; not on a tmpfs)
  --limit SECONDS   end the commands after so many seconds (default: 3000)
  --keep            keep the chroot, and say where it is

Logs: build/bare/*.log.  The last line is "bare: N passed, N failed" (tests of `make test`, and one for each other command) or
"bare: skipped: REASON".  The exit code is 1 if something failed, 0 otherwise.'
set -u
self=$(readlink -f "$0")
cd "$(dirname "$self")/../.." || exit 1
at=${TMPDIR:-/tmp} limit=3000 keep= inside=
while [ $# -gt 0 ]; do
    case $1 in
    --at) at=${2:?} && shift ;;
    --limit) limit=${2:?} && shift ;;
    --keep) keep=1 ;;
    --inside) inside=${2:?} && shift ;;
    --help | -h) echo "$usage" && exit 0 ;;
    *) echo "$usage" >&2 && exit 2 ;;
    esac
    shift
done
suite=bookworm
logs=build/bare
tree="/root/a tree/upmu"

skip() {
    echo "bare: skipped: $*"
    exit 0
}

say() {
    echo "bare: $(date +%T) $*"
}

# Names of variables of a proxy, and their values, as arguments of env.
proxies() {
    local name
    for name in http_proxy https_proxy ftp_proxy no_proxy all_proxy HTTP_PROXY HTTPS_PROXY FTP_PROXY NO_PROXY ALL_PROXY; do
        [ -z "${!name-}" ] || printf '%s\0' "$name=${!name}"
    done
}

# Run a shell command in the chroot, where only the proxies of this machine's environment are known.
enter() {
    local environment=()
    mapfile -d '' environment < <(proxies)
    timeout --kill-after=10 "$limit" chroot "$inside" /usr/bin/env -i HOME=/root TERM=dumb LANG=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${environment[@]}" /bin/bash -c "$1" < /dev/null
}

# ---- In a mount namespace of its own: its mounts go when its last process ends, however that ends ----

# Run a command of README.md in the tree: its log's name, the command.
command_of_readme() {
    local begun=$SECONDS code
    say "$2"
    enter "cd '$tree' && $2" > "$logs/$1.log" 2>&1
    code=$?
    say "$2: ended with $code after $((SECONDS - begun)) s ($logs/$1.log)"
    limit=$((limit - (SECONDS - begun)))
    [ "$limit" -gt 0 ] || limit=1
    return "$code"
}

# README's first command, with a compiler and without all else that `make deps` installs: in a copy, which the mounts are not in.
first_command() {
    local inside=$inside begun code
    cp -ax "$inside" "$inside-try" || return 1
    inside=$inside-try
    mount -t proc proc "$inside/proc" && mount --rbind /dev "$inside/dev" || return 1
    say "apt-get install -y gcc libc6-dev"
    enter "apt-get install -y --no-install-recommends gcc libc6-dev" >> "$logs/git.log" 2>&1 || exit 102
    begun=$EPOCHREALTIME
    command_of_readme try "make try"
    code=$?
    # Both numbers are microseconds.
    [ "$code" = 0 ] && [ $((${EPOCHREALTIME/[.,]/} - ${begun/[.,]/})) -lt 10000000 ] && return
    [ "$code" != 0 ] || say "make try took 10 seconds and more"
    return 1
}

if [ -n "$inside" ]; then
    mount -t proc proc "$inside/proc" && mount --rbind /dev "$inside/dev" || exit 101
    say "apt-get update; apt-get install -y git make"
    enter "apt-get update && apt-get install -y git make" > "$logs/git.log" 2>&1 || exit 102
    enter "git clone -q /srv/upmu.bundle '$tree'" >> "$logs/git.log" 2>&1 || exit 103
    passed=0 failed=0
    if first_command; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    # With git and make alone: nothing that `make deps` has to install may be there before it.
    command_of_readme deps "make deps && make demo"
    code=$?
    # A mirror that cannot be read says nothing of this tree.
    [ "$code" = 0 ] || ! grep -qE '^[EW]: .*(Failed to fetch|index files failed)' "$logs/deps.log" || exit 104
    if [ "$code" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    command_of_readme test "make test"
    code=$?
    closing=$(grep -oE '^[0-9]+ passed, [0-9]+ failed' "$logs/test.log" | tail -n 1)
    [ -n "$closing" ] || closing="0 passed, 1 failed"
    [ "$code" = 0 ] || [ "${closing#*, }" != "0 failed" ] || closing="${closing%,*}, 1 failed"
    [ "$code" != 124 ] || say "make test was ended after its time (--limit)"
    passed=$((passed + ${closing%% *}))
    closing=${closing#*, }
    failed=$((failed + ${closing%% *}))
    grep -hE 'FAILED|SKIPPED|^ *skipped' "$logs/test.log" | sed 's/^/bare:     /'
    echo "bare: $passed passed, $failed failed"
    exit $((failed > 0))
fi

# ---- Outside: what is made, and what is removed ----

[ "$limit" -gt 60 ] || skip "no time is left for it"
[ "$(id -u)" = 0 ] || skip "chroots are made by root (sudo make test-bare)"
command -v debootstrap > /dev/null || skip "no debootstrap (apt-get install debootstrap)"
command -v unshare > /dev/null || skip "no unshare (apt-get install util-linux)"
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
git rev-parse -q --verify HEAD > /dev/null 2>&1 || skip "this tree is no git repository"
mkdir -p "$logs" "$at" || exit 1
rm -f "$logs"/*.log
at=$(mktemp -d "$(readlink -f "$at")/upmu-bare.XXXXXX") || exit 1
root=$at/root

# Nothing is mounted here: the mounts are those of the namespace.  A tree with a mount in it is left alone all the same.
tidy() {
    if [ -n "$keep" ]; then
        say "kept: $root"
    elif grep -qF " $at/" /proc/self/mounts; then
        say "left: $at has mounts; unmount them, then remove it"
    else
        rm -rf --one-file-system "$at"
    fi
}
trap tidy EXIT
trap 'exit 130' INT TERM HUP

# The mirror of this machine that has the suite, and the sources, keys, certificates and proxies that apt has here.
mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' 2> /dev/null |
    sed -n "s/^$suite //p" | head -n 1)
carry() {
    local path
    for path in /etc/apt /usr/share/keyrings /usr/local/share/ca-certificates /etc/ssl/certs/ca-certificates.crt \
        /etc/resolv.conf /etc/hosts; do
        [ -e "$path" ] || continue
        mkdir -p "$root$(dirname "$path")"
        rm -rf --one-file-system "${root:?}$path"
        cp -rL "$path" "$root$path" || return 1
    done
}

[ -z "$(git status --porcelain --untracked-files=no)" ] || say "changes that are not committed are not in the clone"
say "debootstrap of $suite from ${mirror:=http://deb.debian.org/debian} in $root"
mkdir "$root"
timeout "$limit" debootstrap --variant=minbase "$suite" "$root" "$mirror" > "$logs/debootstrap.log" 2>&1 < /dev/null ||
    skip "debootstrap failed: $(tail -n 1 "$logs/debootstrap.log")"
carry || skip "apt's settings cannot be copied"
git bundle create "$root/srv/upmu.bundle" HEAD > "$logs/git.log" 2>&1 || skip "git bundle failed: $(tail -n 1 "$logs/git.log")"
unshare --mount --propagation private true 2> /dev/null || skip "mount namespaces are refused"
limit=$((limit - SECONDS))
unshare --mount --propagation private "$self" --limit "$limit" --inside "$root"
code=$?
case $code in
101) skip "mounts are refused" ;;
102) skip "apt-get failed in the chroot: $(grep -E '^[EW]:' "$logs/git.log" | tail -n 1)" ;;
104) skip "apt cannot read its mirror: $(grep -E '^[EW]: .*(Failed to fetch|index files failed)' "$logs/deps.log" | head -n 1)" ;;
103) skip "the tree cannot be cloned: $(tail -n 1 "$logs/git.log")" ;;
esac
exit "$code"
