package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"shakedown/internal/hardware"
	"shakedown/internal/planner"
)

// smiPatience is how long nvidia-smi may take: on a machine with many GPUs
// without persistence mode it takes seconds.
const smiPatience = 10 * time.Second

// thisMachine is what can be found out about the machine that shakedown runs on:
// by asking nvidia-smi, and by looking into folders.
func thisMachine(w *World) planner.Machine {
	m := planner.Machine{SMI: runSMI}
	for _, dir := range packageDirs(w) {
		m.Packages = append(m.Packages, planner.PackageDir{Path: dir, FS: os.DirFS(dir)})
	}
	if hub := hubDir(w); hub != "" {
		m.Hub, m.HubPath = os.DirFS(hub), hub
	}
	return m
}

func runSMI(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, smiPatience)
	defer cancel()
	return exec.CommandContext(ctx, "nvidia-smi", hardware.SMIQuery...).Output()
}

// packageDirs lists the folders of installed Python packages in the order of a
// search: the active environment, the one in this folder, the user's, the
// machine's.
func packageDirs(w *World) []string {
	var roots []string
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if dir := w.Env(name); dir != "" {
			roots = append(roots, dir)
		}
	}
	roots = append(roots, ".venv", "venv")
	if home := w.Env("HOME"); home != "" {
		roots = append(roots, filepath.Join(home, ".local"))
	}
	roots = append(roots, "/usr/local", "/opt/venv", "/usr")
	var out []string
	for _, root := range roots {
		for _, kind := range []string{"site-packages", "dist-packages"} {
			found, err := filepath.Glob(filepath.Join(root, "lib", "python3*", kind))
			if err != nil {
				continue // a root with an odd name
			}
			slices.Reverse(found) // the newest Python first
			out = append(out, found...)
		}
	}
	return out
}

// hubDir is the cache of Hugging Face's hub.
// Source: huggingface_hub/constants.py.
func hubDir(w *World) string {
	if dir := w.Env("HF_HUB_CACHE"); dir != "" {
		return dir
	}
	if dir := w.Env("HF_HOME"); dir != "" {
		return filepath.Join(dir, "hub")
	}
	if home := w.Env("HOME"); home != "" {
		return filepath.Join(home, ".cache", "huggingface", "hub")
	}
	return ""
}
