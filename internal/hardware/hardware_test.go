package hardware_test

import (
	"errors"
	"strings"
	"testing"

	"shakedown/internal/hardware"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		text, name, sm string
		mib, count     int
	}{
		{"8x RTX PRO 6000", "NVIDIA RTX PRO 6000 Blackwell Server Edition", "12.0", 97887, 8},
		{"H200", "NVIDIA H200", "9.0", 143771, 1},
		{"4 x nvidia h100 80gb hbm3", "NVIDIA H100 80GB HBM3", "9.0", 81559, 4},
		{"b200 x 8", "NVIDIA B200", "10.0", 183359, 8},
		{"a100-40g", "NVIDIA A100-SXM4-40GB", "8.0", 40960, 1},
		{"DGX Spark", "NVIDIA GB10", "12.1", 122502, 1},
		{"8xMI300X", "AMD Instinct MI300X", "gfx942", 196592, 8},
		{"2× 4090", "NVIDIA GeForce RTX 4090", "8.9", 24564, 2},
		{"8x MyGPU,sm=12.0,mem=96GiB", "MyGPU", "12.0", 98304, 8},
		{"8x MyGPU, mem=97887MiB, sm=sm_100a", "MyGPU", "10.0", 97887, 8},
		{"8x H20,mem=96GB", "NVIDIA H20", "9.0", 98304, 8},
		{"2x other,sm=gfx950,mem=288", "other", "gfx950", 294912, 2},
	} {
		g, err := hardware.Parse(tc.text)
		if err != nil {
			t.Errorf("%q: %v", tc.text, err)
			continue
		}
		if g.Name != tc.name || g.SM != tc.sm || g.MemoryMiB != tc.mib || g.Count != tc.count {
			t.Errorf("%q: got %+v", tc.text, g)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "without a name",
		"8x ":                         "is not known",
		"0x H200":                     "at least one device",
		"99999999x H200":              "more than",
		"8x RTX PRO 600":              "similar: NVIDIA RTX PRO 6000 Blackwell Server Edition",
		"8x MyGPU,sm=12.0":            "needs both values",
		"8x H200,sm=12.0":             "contradicts itself: NVIDIA H200 has compute capability 9.0, not 12.0",
		"8x H200,mem=80GiB":           "contradicts itself: NVIDIA H200 has 143771 MiB, not 81920 MiB",
		"8x MyGPU,sm=blackwell,mem=1": "no compute capability",
		"8x MyGPU,sm=12.0,mem=lots":   "no memory",
		"8x MyGPU,sm=12.0,mem=1e99":   "no memory",
		"8x MyGPU,sm=12.0,sm=9.0":     "given twice",
		"8x MyGPU,cores=4":            "cannot read",
		"sm=12.0,mem=96GiB":           "the name comes first",
	} {
		_, err := hardware.Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

func TestUnknownOffersNear(t *testing.T) {
	_, err := hardware.Parse("8x RTX 6000 Blackwell")
	var unknown *hardware.UnknownError
	if !errors.As(err, &unknown) || len(unknown.Near) == 0 || !strings.Contains(unknown.Near[0], "RTX PRO 6000") {
		t.Errorf("got %v", err)
	}
	if _, err := hardware.Parse("abacus"); !errors.As(err, &unknown) || len(unknown.Near) != 0 {
		t.Errorf("got %v", err)
	}
}

// TestProfiles: every spelling of a profile is found again and means only that
// profile; capability and memory are filled in.
func TestProfiles(t *testing.T) {
	ids := map[string]bool{}
	for _, p := range hardware.Profiles() {
		if ids[p.ID] {
			t.Errorf("%s: the id is taken", p.ID)
		}
		ids[p.ID] = true
		for _, name := range append([]string{p.ID, p.Name}, p.Names...) {
			got, ok := hardware.Find(name)
			if !ok || got.ID != p.ID {
				t.Errorf("%q finds %+v, want %s", name, got, p.ID)
			}
		}
		g := p.GPU(8)
		if major, _ := g.Capability(); (major == 0) != g.AMD() || g.SharedMemoryKiB() == 0 || g.MemoryMiB < 8<<10 {
			t.Errorf("%s: %+v, shared memory %d KiB", p.ID, g, g.SharedMemoryKiB())
		}
		if back, err := hardware.Parse(g.String()); err != nil || back != g {
			t.Errorf("%s reads back as %+v, %v", g, back, err)
		}
	}
}

func TestArch(t *testing.T) {
	for text, want := range map[string]string{"H200": "sm90", "gb300": "sm103", "rtx5090": "sm120", "mi355x": "gfx950"} {
		if g, err := hardware.Parse(text); err != nil || g.Arch() != want {
			t.Errorf("%s: %s, %v", text, g.Arch(), err)
		}
	}
}

func TestLike(t *testing.T) {
	g := hardware.Like(hardware.GPU{Name: "NVIDIA GB10", SM: "12.1", MemoryMiB: 122502, Count: 1})
	if !g.Unified || g.MemoryMiB != 122502 || g.Count != 1 {
		t.Errorf("got %+v", g)
	}
	if g := hardware.Like(hardware.GPU{Name: "NVIDIA H200"}); g.Unified || g.MemoryMiB != 0 {
		t.Errorf("got %+v", g)
	}
}

func TestReadSMI(t *testing.T) {
	g, err := hardware.ReadSMI(strings.NewReader("NVIDIA H200, 9.0, 143771\nNVIDIA H200, 9.0, 143771\n"))
	if err != nil || g.ID != "h200" || g.Count != 2 || g.MemoryMiB != 143771 {
		t.Errorf("%+v, %v", g, err)
	}
	g, err = hardware.ReadSMI(strings.NewReader("NVIDIA GB10, 12.1, [N/A]\n"))
	if err != nil || !g.Unified || g.MemoryMiB != 122502 {
		t.Errorf("%+v, %v", g, err)
	}
	g, err = hardware.ReadSMI(strings.NewReader("NVIDIA New 9000, 13.0, 300000\n"))
	if err != nil || g.SM != "13.0" || g.ID != "" || g.MemoryMiB != 300000 {
		t.Errorf("%+v, %v", g, err)
	}
	for text, want := range map[string]string{
		"":                               "no GPU",
		"NVIDIA New 9000, 13.0, [N/A]":   "no memory",
		"NVIDIA New 9000, [N/A], 300000": "no compute capability",
		"No devices were found":          "cannot read",
		"NVIDIA H200, 9.0, 143771\nNVIDIA L4, 8.9, 23034": "several kinds",
	} {
		if _, err := hardware.ReadSMI(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzParse: whatever is given as a description, reading it ends without a
// panic, and what was accepted is a possible machine.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"8x RTX PRO 6000", "8x MyGPU,sm=12.0,mem=96GiB", "H200 x 8", "sm=,mem=", "9999999999999999999x a", "a,mem=9e300"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := hardware.Parse(text)
		if err == nil && (g.Count < 1 || g.MemoryMiB < 1 || g.SM == "" || g.Name == "") {
			t.Errorf("%q: %+v", text, g)
		}
	})
}

// FuzzReadSMI: the output of another program.
func FuzzReadSMI(f *testing.F) {
	f.Add("NVIDIA H200, 9.0, 143771\nNVIDIA H200, 9.0, 143771\n")
	f.Add("NVIDIA GB10, 12.1, [N/A]\n")
	f.Add("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := hardware.ReadSMI(strings.NewReader(text))
		if err == nil && (g.Count < 1 || g.MemoryMiB < 1 || g.SM == "") {
			t.Errorf("%q: %+v", text, g)
		}
	})
}
