package vllm

import (
	"fmt"
	"strings"

	"shakedown/internal/hardware"
)

// device is the GPU as vLLM's platform class sees it.
type device struct {
	major, minor int    // compute capability
	name         string // as the driver prints it
	memory       int    // bytes that get_device_total_memory tells
	count        int
}

func deviceOf(g hardware.GPU) device {
	d := device{name: g.Name, count: max(1, g.Count), memory: g.MemoryMiB << 20}
	if _, err := fmt.Sscanf(g.SM, "%d.%d", &d.major, &d.minor); err != nil {
		d.major, d.minor = 0, 0
	}
	if d.memory == 0 {
		d.memory = int(g.MemoryGiB * (1 << 30))
	}
	return d
}

// capability is the compute capability as one number: 90, 100, 120.
func (d device) capability() int { return d.major*10 + d.minor }

// named says whether a part occurs in the device's name, in small letters.
func (d device) named(part string) bool { return strings.Contains(strings.ToLower(d.name), part) }
