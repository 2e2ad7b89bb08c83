#!/bin/bash
# A study on several machines of a Slurm cluster; on a single one slurm-one-node.sh does.
#     sbatch --partition cpu --nodes 3 slurm.sh /shared/study flagship --trials 500
#     sbatch --partition gpu --nodes 2 --gpus-per-node 4 slurm.sh /shared/study flagship --trials 500
# The first argument is the study's folder, on a disk that all machines share; the rest is what `skipstack search` takes.
# A folder that holds a study already is resumed. Before Slurm's time is over the study is interrupted in order and the
# job queued again, so that a study may be longer than any job.
#
# A trial takes one CPU: --cpus-per-task is how many run on a machine at most. Where the job has GPUs, each trial gets
# the share of one that its network needs, or what --gpus-per-trial says.
# The environment is that of the shell that submits, or SKIPSTACK_ENV, the folder of a virtual environment.
#SBATCH --job-name=skipstack
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=08:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@120

set -u
folder=$1
shift

if [ -n "${SKIPSTACK_ENV:-}" ]; then
    source "$SKIPSTACK_ENV/bin/activate"
fi
if ! command -v skipstack > /dev/null; then
    echo "slurm.sh: no skipstack on the PATH (allowed: submit from its environment, or name it: SKIPSTACK_ENV)" >&2
    exit 2
fi

# Ray takes connections from those alone who know this token; Slurm hands the environment to every machine.
export RAY_AUTH_MODE=token
export RAY_AUTH_TOKEN=${RAY_AUTH_TOKEN:-$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')}
# What srun starts has one CPU unless this says so, since Slurm 22.05.
export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}

head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
on_head=(srun --overlap --nodes=1 --ntasks=1 --nodelist="$head")
address=$("${on_head[@]}" hostname -I | awk '{print $1}')
# Other jobs may share the machine: Ray gets a port that nobody has, and so do its workers.
port=$("${on_head[@]}" python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
# Ray's sockets need a short path, which the TMPDIR of a job seldom has.
scratch=/tmp/ray-$SLURM_JOB_ID
start='exec ray start --block --num-cpus="$SLURM_CPUS_PER_TASK" --num-gpus="${SLURM_GPUS_ON_NODE:-0}" \
    --min-worker-port=0 --max-worker-port=0 --dashboard-agent-listen-port=0 "$@"'

"${on_head[@]}" bash -c "$start" ray --head --node-ip-address="$address" --port="$port" --temp-dir="$scratch" \
    --include-dashboard=false &
ray=$!
running=("$ray")
all=(--nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES")
trap 'kill "${running[@]}" 2> /dev/null; wait "${running[@]}"; srun --overlap "${all[@]}" rm -rf "$scratch"' EXIT

until (exec 3<> "/dev/tcp/$address/$port") 2> /dev/null; do
    if ! kill -0 "$ray" 2> /dev/null || [ "$SECONDS" -gt "${RAY_SECONDS:-300}" ]; then
        echo "slurm.sh: Ray does not start on $head; what it says stands above" >&2
        exit 1
    fi
    sleep 0.5
done
others=$((SLURM_JOB_NUM_NODES - 1))
if [ "$others" -gt 0 ]; then
    srun --nodes="$others" --ntasks="$others" --exclude="$head" bash -c "$start" ray --address="$address:$port" &
    running+=($!)
fi

if [ -d "$folder/ledger" ]; then
    skipstack resume "$folder" --address "$address:$port" &
else
    skipstack search "$@" --out "$folder" --address "$address:$port" &
fi
study=$!

# The shell gets Slurm's signal, and a wait ends with it (143): it is handed on to the study, which is waited for again.
trap 'kill -TERM "$study"' TERM
for _ in 1 2 3; do
    wait "$study"
    code=$?
    [ "$code" -eq 143 ] || break
done

if [ "$code" -eq 130 ]; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
