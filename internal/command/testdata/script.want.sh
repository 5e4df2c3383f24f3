shell sglang /models/tiny
env  CUDA_VISIBLE_DEVICES=0,1
env  NOTE=two words
env  SGLANG_ENABLE_JIT_DEEPGEMM=0
argv python3
argv -m
argv sglang.launch_server
argv --model-path
argv /models/tiny
argv --tp
argv 2
argv --host
argv $(hostname -i)
argv --log-dir
argv $HOME/logs
argv --trust-remote-code
argv --json-model-override-args
argv {"a": "it's"}
---
CUDA_VISIBLE_DEVICES=0,1 NOTE='two words' SGLANG_ENABLE_JIT_DEEPGEMM=0 \
  nohup python3 -m sglang.launch_server --model-path /models/tiny --tp 2 \
  --host $(hostname -i) --log-dir "$HOME"/logs --trust-remote-code \
  --json-model-override-args '{"a": "it'\''s"}' > /tmp/server.log 2>&1 &
===
