docker-run sglang $MODELS/tiny
env  A=1
argv python3
argv -m
argv sglang.launch_server
argv --model-path
argv $MODELS/tiny
argv --tp
argv 2
---
docker run --gpus '"device=0,1"' --entrypoint bash lmsysorg/sglang:v0.5.9 \
  -c "pip install -q x && export A=1 && python3 -m sglang.launch_server --model-path $MODELS/tiny --tp 2 | tee /logs/out; sleep 5"
===
