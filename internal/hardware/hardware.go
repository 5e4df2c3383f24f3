// Package hardware describes GPUs as an inference engine sees them: compute
// capability, memory, how many. It is a leaf without access to any device; the
// profiles are data, and what a machine's own tools print is handed to it as
// text.
//
// Terms: a profile is what is known of one product; a description is what a
// user writes for the GPUs of a launch ("8x RTX PRO 6000").
package hardware

import (
	"strconv"
	"strings"
)

// GPU is one kind of device and how many of them a launch may use.
type GPU struct {
	ID        string  // short name of the profile, "rtxpro6000"; empty for an explicit description
	Name      string  // as the driver prints it: "NVIDIA RTX PRO 6000 Blackwell Server Edition"
	SM        string  // compute capability "12.0"; for AMD the architecture "gfx942"
	MemoryGiB float64 // memory of one device that a program can use, in GiB
	MemoryMiB int     // the same in MiB, as the driver counts it
	Count     int     // devices
	Unified   bool    // the memory is the machine's own: nvidia-smi prints "[N/A]" for it
}

// AMD says whether the device is one of AMD's.
func (g GPU) AMD() bool { return strings.HasPrefix(g.SM, "gfx") }

// Capability is the compute capability as two numbers, 0 and 0 for a device of
// AMD.
func (g GPU) Capability() (major, minor int) {
	a, b, _ := strings.Cut(g.SM, ".")
	major, err := strconv.Atoi(a)
	if err != nil {
		return 0, 0
	}
	minor, _ = strconv.Atoi(b)
	return major, minor
}

// Arch is the capability as logs write it: "sm120", "gfx942".
func (g GPU) Arch() string {
	if g.AMD() {
		return g.SM
	}
	return "sm" + strings.ReplaceAll(g.SM, ".", "")
}

// String is the description that Parse reads back for a device with a profile:
// "8x NVIDIA H200".
func (g GPU) String() string {
	if g.Count == 1 {
		return g.Name
	}
	return strconv.Itoa(g.Count) + "x " + g.Name
}

// sharedMemory is the shared memory that one block may use at most, in KiB, by
// compute capability.
// Source: CUDA C++ Programming Guide, technical specifications per compute capability.
var sharedMemory = map[string]int{
	"7.0": 96, "7.5": 64, "8.0": 163, "8.6": 99, "8.7": 163, "8.9": 99,
	"9.0": 227, "10.0": 227, "10.3": 227, "11.0": 227, "12.0": 99, "12.1": 99,
}

// amdSharedMemory is the local data share of AMD's devices, in KiB.
// Source: CDNA 3 and CDNA 4 instruction set architecture guides.
var amdSharedMemory = map[string]int{"gfx90a": 64, "gfx942": 64, "gfx950": 160}

// SharedMemoryKiB is the shared memory that one block of threads may use at
// most, in KiB; 0 when it is not known.
func (g GPU) SharedMemoryKiB() int {
	if g.AMD() {
		return amdSharedMemory[g.SM]
	}
	return sharedMemory[g.SM]
}

// Like completes a device that is known by name, capability and memory only,
// as another program describes it, with what its profile adds.
func Like(g GPU) GPU {
	for _, p := range profiles {
		if p.Name == g.Name {
			g.Unified = p.Unified
		}
	}
	return g
}
