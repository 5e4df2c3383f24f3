#!/bin/bash
# Starts the tiny model.
MODEL=/models/tiny
export CUDA_VISIBLE_DEVICES=0,1 NOTE="two words"
LOG=/tmp/server.log
ARGS=(--trust-remote-code --json-model-override-args '{"a": "it'"'"'s"}')

SGLANG_ENABLE_JIT_DEEPGEMM=0 nohup python3 -m sglang.launch_server --model-path "$MODEL" \
  --tp 2 --host $(hostname -i) --log-dir "$HOME/logs" "${ARGS[@]}" > "$LOG" 2>&1 &
