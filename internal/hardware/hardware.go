// Package hardware describes GPUs as an inference engine sees them: compute
// capability, memory, how many. It is a leaf without access to any device; the
// profiles are data.
package hardware

// GPU is one kind of device and how many of them a launch may use.
type GPU struct {
	ID        string  // short name of the profile, "rtxpro6000"; empty for an explicit description
	Name      string  // as the driver prints it: "NVIDIA RTX PRO 6000 Blackwell Server Edition"
	SM        string  // compute capability "12.0"; for AMD the architecture "gfx942"
	MemoryGiB float64 // memory of one device as sold
	MemoryMiB int     // memory of one device as nvidia-smi prints it; 0 when it prints "[N/A]"
	Count     int     // devices
}
