package hardware

import (
	"math"
	"slices"
	"strings"
)

// Profile is what is known of one product. Profiles are immutable.
type Profile struct {
	ID        string   // short name
	Names     []string // further names that people write; spelling and blanks do not matter
	Name      string   // as the driver prints it
	SM        string   // compute capability, or AMD's architecture
	MemoryMiB int      // as the driver counts it, with error correction where the product has it on
	Unified   bool     // shares its memory with the CPU
}

// profiles are the devices that engines are run on. Capabilities are those of
// https://developer.nvidia.com/cuda-gpus and of AMD's ROCm compatibility
// matrix; memory is what nvidia-smi and rocm-smi print, as seen in bug reports
// of the engines. GB10 has none there: 122502 MiB is what CUDA reports.
var profiles = []Profile{
	{ID: "v100-16g", Names: []string{"V100 16GB"}, Name: "Tesla V100-SXM2-16GB", SM: "7.0", MemoryMiB: 16384},
	{ID: "v100-32g", Names: []string{"V100", "V100 32GB"}, Name: "Tesla V100-SXM2-32GB", SM: "7.0", MemoryMiB: 32768},
	{ID: "t4", Names: []string{"NVIDIA T4"}, Name: "Tesla T4", SM: "7.5", MemoryMiB: 15360},
	{ID: "rtx2080ti", Names: []string{"2080 Ti"}, Name: "NVIDIA GeForce RTX 2080 Ti", SM: "7.5", MemoryMiB: 11264},
	{ID: "a100-40g", Names: []string{"A100 40GB", "A100 40"}, Name: "NVIDIA A100-SXM4-40GB", SM: "8.0", MemoryMiB: 40960},
	{ID: "a100-40g-pcie", Names: []string{"A100 PCIe 40GB"}, Name: "NVIDIA A100-PCIE-40GB", SM: "8.0", MemoryMiB: 40960},
	{ID: "a100-80g", Names: []string{"A100", "A100 80GB", "A100 80", "A100 SXM"}, Name: "NVIDIA A100-SXM4-80GB", SM: "8.0", MemoryMiB: 81920},
	{ID: "a100-80g-pcie", Names: []string{"A100 PCIe"}, Name: "NVIDIA A100 80GB PCIe", SM: "8.0", MemoryMiB: 81920},
	{ID: "a800-80g", Names: []string{"A800", "A800 80GB"}, Name: "NVIDIA A800-SXM4-80GB", SM: "8.0", MemoryMiB: 81920},
	{ID: "a30", Name: "NVIDIA A30", SM: "8.0", MemoryMiB: 24576},
	{ID: "a10", Name: "NVIDIA A10", SM: "8.6", MemoryMiB: 23028},
	{ID: "a10g", Name: "NVIDIA A10G", SM: "8.6", MemoryMiB: 23028},
	{ID: "a40", Name: "NVIDIA A40", SM: "8.6", MemoryMiB: 46068},
	{ID: "rtxa5000", Names: []string{"A5000"}, Name: "NVIDIA RTX A5000", SM: "8.6", MemoryMiB: 24564},
	{ID: "rtxa6000", Names: []string{"A6000"}, Name: "NVIDIA RTX A6000", SM: "8.6", MemoryMiB: 49140},
	{ID: "rtx3060", Names: []string{"3060"}, Name: "NVIDIA GeForce RTX 3060", SM: "8.6", MemoryMiB: 12288},
	{ID: "rtx3080", Names: []string{"3080"}, Name: "NVIDIA GeForce RTX 3080", SM: "8.6", MemoryMiB: 10240},
	{ID: "rtx3090", Names: []string{"3090"}, Name: "NVIDIA GeForce RTX 3090", SM: "8.6", MemoryMiB: 24576},
	{ID: "rtx3090ti", Names: []string{"3090 Ti"}, Name: "NVIDIA GeForce RTX 3090 Ti", SM: "8.6", MemoryMiB: 24564},
	{ID: "orin", Names: []string{"Jetson AGX Orin"}, Name: "Orin", SM: "8.7", MemoryMiB: 62841, Unified: true},
	{ID: "l4", Name: "NVIDIA L4", SM: "8.9", MemoryMiB: 23034},
	{ID: "l20", Name: "NVIDIA L20", SM: "8.9", MemoryMiB: 46068},
	{ID: "l40", Name: "NVIDIA L40", SM: "8.9", MemoryMiB: 46068},
	{ID: "l40s", Name: "NVIDIA L40S", SM: "8.9", MemoryMiB: 46068},
	{ID: "rtx6000ada", Names: []string{"RTX 6000 Ada"}, Name: "NVIDIA RTX 6000 Ada Generation", SM: "8.9", MemoryMiB: 49140},
	{ID: "rtx4070tisuper", Names: []string{"4070 Ti SUPER"}, Name: "NVIDIA GeForce RTX 4070 Ti SUPER", SM: "8.9", MemoryMiB: 16376},
	{ID: "rtx4080", Names: []string{"4080"}, Name: "NVIDIA GeForce RTX 4080", SM: "8.9", MemoryMiB: 16376},
	{ID: "rtx4090", Names: []string{"4090"}, Name: "NVIDIA GeForce RTX 4090", SM: "8.9", MemoryMiB: 24564},
	{ID: "rtx4090d", Names: []string{"4090 D"}, Name: "NVIDIA GeForce RTX 4090 D", SM: "8.9", MemoryMiB: 24564},
	{ID: "h100-80g", Names: []string{"H100", "H100 SXM", "H100 80GB"}, Name: "NVIDIA H100 80GB HBM3", SM: "9.0", MemoryMiB: 81559},
	{ID: "h100-pcie", Name: "NVIDIA H100 PCIe", SM: "9.0", MemoryMiB: 81559},
	{ID: "h100-nvl", Name: "NVIDIA H100 NVL", SM: "9.0", MemoryMiB: 95830},
	{ID: "h800", Name: "NVIDIA H800", SM: "9.0", MemoryMiB: 81559},
	{ID: "h20", Names: []string{"H20 96GB"}, Name: "NVIDIA H20", SM: "9.0", MemoryMiB: 97871},
	{ID: "h20-3e", Names: []string{"H20 141GB"}, Name: "NVIDIA H20-3e", SM: "9.0", MemoryMiB: 143771},
	{ID: "h200", Names: []string{"H200 SXM", "H200 141GB"}, Name: "NVIDIA H200", SM: "9.0", MemoryMiB: 143771},
	{ID: "h200-nvl", Name: "NVIDIA H200 NVL", SM: "9.0", MemoryMiB: 143771},
	{ID: "gh200", Names: []string{"GH200", "GH200 96GB"}, Name: "NVIDIA GH200 480GB", SM: "9.0", MemoryMiB: 97871},
	{ID: "b200", Names: []string{"B200 SXM"}, Name: "NVIDIA B200", SM: "10.0", MemoryMiB: 183359},
	{ID: "gb200", Name: "NVIDIA GB200", SM: "10.0", MemoryMiB: 189471},
	{ID: "b300", Names: []string{"B300", "B300 SXM"}, Name: "NVIDIA B300 SXM6 AC", SM: "10.3", MemoryMiB: 275040},
	{ID: "gb300", Name: "NVIDIA GB300", SM: "10.3", MemoryMiB: 284208},
	{ID: "thor", Names: []string{"Jetson AGX Thor", "Jetson Thor"}, Name: "NVIDIA Thor", SM: "11.0", MemoryMiB: 125772, Unified: true},
	{ID: "rtxpro6000", Names: []string{"RTX PRO 6000", "RTX PRO 6000 Blackwell", "PRO 6000", "RTX PRO 6000 Server"}, Name: "NVIDIA RTX PRO 6000 Blackwell Server Edition", SM: "12.0", MemoryMiB: 97887},
	{ID: "rtxpro6000-ws", Names: []string{"RTX PRO 6000 Workstation"}, Name: "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", SM: "12.0", MemoryMiB: 97887},
	{ID: "rtxpro6000-mq", Names: []string{"RTX PRO 6000 Max-Q"}, Name: "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", SM: "12.0", MemoryMiB: 97887},
	{ID: "rtxpro5000", Names: []string{"RTX PRO 5000", "RTX PRO 5000 Blackwell"}, Name: "NVIDIA RTX PRO 5000 Blackwell", SM: "12.0", MemoryMiB: 48935},
	{ID: "rtx5090", Names: []string{"5090"}, Name: "NVIDIA GeForce RTX 5090", SM: "12.0", MemoryMiB: 32607},
	{ID: "rtx5080", Names: []string{"5080"}, Name: "NVIDIA GeForce RTX 5080", SM: "12.0", MemoryMiB: 16303},
	{ID: "rtx5070ti", Names: []string{"5070 Ti"}, Name: "NVIDIA GeForce RTX 5070 Ti", SM: "12.0", MemoryMiB: 16303},
	{ID: "gb10", Names: []string{"DGX Spark", "Spark"}, Name: "NVIDIA GB10", SM: "12.1", MemoryMiB: 122502, Unified: true},
	{ID: "mi210", Name: "AMD Instinct MI210", SM: "gfx90a", MemoryMiB: 65520},
	{ID: "mi250x", Names: []string{"MI250"}, Name: "AMD Instinct MI250X", SM: "gfx90a", MemoryMiB: 65520},
	{ID: "mi300x", Name: "AMD Instinct MI300X", SM: "gfx942", MemoryMiB: 196592},
	{ID: "mi308x", Name: "AMD Instinct MI308X", SM: "gfx942", MemoryMiB: 196592},
	{ID: "mi325x", Name: "AMD Instinct MI325X", SM: "gfx942", MemoryMiB: 262128},
	{ID: "mi350x", Name: "AMD Instinct MI350X", SM: "gfx950", MemoryMiB: 294896},
	{ID: "mi355x", Name: "AMD Instinct MI355X", SM: "gfx950", MemoryMiB: 294896},
}

// Profiles returns all profiles, older generations first. The caller must not
// change the slice.
func Profiles() []Profile { return profiles }

// GPU is count devices of the profile.
func (p *Profile) GPU(count int) GPU {
	return GPU{
		ID: p.ID, Name: p.Name, SM: p.SM, MemoryMiB: p.MemoryMiB, Count: count, Unified: p.Unified,
		MemoryGiB: gib(p.MemoryMiB),
	}
}

// gib is mib in GiB to two decimals, as products are compared.
func gib(mib int) float64 { return math.Round(float64(mib)/1024*100) / 100 }

// vendors stand in front of the names that drivers print, and are left out by
// people.
var vendors = []string{"nvidia", "amd", "geforce", "instinct", "tesla"}

// fold reduces a name to its letters and digits without the vendor.
func fold(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r < '0' || r > '9' && r < 'a' || r > 'z' })
	words = slices.DeleteFunc(words, func(w string) bool { return slices.Contains(vendors, w) })
	return strings.Join(words, "")
}

// Find returns the profile of a name: the id, the driver's name or another name
// of the product. Case, blanks, dashes and the vendor do not matter.
func Find(name string) (*Profile, bool) {
	want := fold(name)
	if want == "" {
		return nil, false
	}
	for i := range profiles {
		for _, n := range profiles[i].spellings() {
			if fold(n) == want {
				return &profiles[i], true
			}
		}
	}
	return nil, false
}

func (p *Profile) spellings() []string { return append([]string{p.ID, p.Name}, p.Names...) }

// maxNear is how many names an error offers.
const maxNear = 4

// near lists the driver's names that are spelled most like name: those that
// contain it or a word of it first, then by the pairs of letters they share.
func near(name string) []string {
	want := fold(name)
	type scored struct {
		name  string
		score float64
	}
	var all []scored
	for i := range profiles {
		best := 0.0
		for _, n := range profiles[i].spellings() {
			best = max(best, likeness(want, fold(n)))
		}
		if best >= 0.4 {
			all = append(all, scored{profiles[i].Name, best})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	var out []string
	for _, s := range all[:min(len(all), maxNear)] {
		out = append(out, s.name)
	}
	return out
}

// likeness is the share of neighbouring letters that two names have in common
// (Dice's coefficient of bigrams), from 0 to 1.
func likeness(a, b string) float64 {
	if len(a) < 2 || len(b) < 2 {
		return 0
	}
	left := map[string]int{}
	for i := range len(a) - 1 {
		left[a[i:i+2]]++
	}
	common := 0
	for i := range len(b) - 1 {
		if pair := b[i : i+2]; left[pair] > 0 {
			left[pair]--
			common++
		}
	}
	return 2 * float64(common) / float64(len(a)+len(b)-2)
}
