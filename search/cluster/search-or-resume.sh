#!/bin/sh
# Searches, and resumes where the folder holds a study already: a job of this may be started again however it ended.
#     search-or-resume /studies/flagship flagship --trials 500
# The first argument is the study's folder, on a disk that stays; the rest is what `skipstack search` takes.
#
# Whoever starts failed jobs again need not do so for a study that ran to its end though faults ended trials (exit 3).

set -u
folder=$1
shift

trap : TERM   # the study ends in order, and this shell waits for it
if [ -d "$folder/ledger" ]; then
    skipstack resume "$folder"
else
    skipstack search "$@" --out "$folder"
fi
code=$?

if [ "$code" -eq 3 ]; then
    echo "search-or-resume: the study is complete; which trials faults ended, its report says above" >&2
    exit 0
fi
exit "$code"
