# The last line says which processes to end, mpiexec first, which is given time to clean up.
folder=$1
trap 'rm -rf "$folder"' EXIT
trap '' HUP TERM # a batch job that is cancelled asks all to go, and this goes last
while read -r line; do said=$line; done
[ -z "$said" ] || [ "$said" = ended ] && exit
set -- $said
mpiexec=$1
shift
if [ $# -eq 0 ]; then # the ranks have not said who they are: mpiexec's children
    set -- $(ps -A -o pid= -o ppid= | while read -r rank parent; do
        [ "$parent" = "$mpiexec" ] && echo "$rank"
    done)
    kill -s TERM -- "-$mpiexec"
fi
for rank; do # and what it has started, in its group
    kill -9 "-$rank" "$rank"
done
for harder in TERM KILL; do
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        kill -0 "$mpiexec" || exit
        sleep 0.5
    done
    kill -s $harder -- "-$mpiexec"
done
