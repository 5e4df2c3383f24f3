package hardware

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// SMIQuery are the arguments with which nvidia-smi prints what ReadSMI reads.
var SMIQuery = []string{"--query-gpu=name,compute_cap,memory.total", "--format=csv,noheader,nounits"}

// ErrNoGPU says that a machine has no GPU.
var ErrNoGPU = errors.New("no GPU found on this machine")

// maxSMI bounds what is read of nvidia-smi's output, in bytes.
const maxSMI = 1 << 20

// ReadSMI reads what nvidia-smi prints for SMIQuery: one device a line. Devices
// of several kinds are an error: an engine would not take them together. A
// memory of "[N/A]", as GB10 has it, is taken from the profile.
func ReadSMI(r io.Reader) (GPU, error) {
	sc := bufio.NewScanner(io.LimitReader(r, maxSMI))
	var all GPU
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		if line == "" {
			continue
		}
		g, err := readSMILine(line)
		if err != nil {
			return GPU{}, err
		}
		switch {
		case all.Count == 0:
			all = g
		case all.Name != g.Name || all.MemoryMiB != g.MemoryMiB:
			return GPU{}, fmt.Errorf("this machine has GPUs of several kinds (%s, %s): name those of the launch with --gpu", all.Name, g.Name)
		default:
			all.Count++
		}
	}
	if err := sc.Err(); err != nil {
		return GPU{}, fmt.Errorf("nvidia-smi: %w", err)
	}
	if all.Count == 0 {
		return GPU{}, ErrNoGPU
	}
	return all, nil
}

func readSMILine(line string) (GPU, error) {
	fields := strings.Split(line, ",")
	if len(fields) != 3 {
		return GPU{}, fmt.Errorf("nvidia-smi: cannot read %q", line)
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	g := GPU{Name: fields[0], Count: 1}
	if p, ok := Find(g.Name); ok {
		g = p.GPU(1)
		g.Name = fields[0]
	}
	if sm, ok := readSM(fields[1]); ok {
		g.SM = sm
	}
	if mib, err := strconv.Atoi(fields[2]); err == nil && mib > 0 && mib <= maxMemory {
		g.MemoryMiB, g.MemoryGiB = mib, gib(mib)
	} else if g.MemoryMiB == 0 {
		return GPU{}, fmt.Errorf("nvidia-smi: no memory for %s (%q): describe it with --gpu \"%s,sm=...,mem=...\"", g.Name, fields[2], g.Name)
	}
	if g.SM == "" {
		return GPU{}, fmt.Errorf("nvidia-smi: no compute capability for %s (%q)", g.Name, fields[1])
	}
	return g, nil
}
