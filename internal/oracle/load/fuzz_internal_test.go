package load

import (
	"testing"

	"shakedown/internal/checkpoint"
	"shakedown/internal/hfconfig"
	"shakedown/internal/oracle/family"
	"shakedown/internal/oracle/numerics"
	"shakedown/internal/oracle/oracletest"
)

// FuzzConfig binds weights that are there to configurations that lie about them:
// an error or a run, never a panic.
func FuzzConfig(f *testing.F) {
	var files []*checkpoint.Checkpoint
	for _, name := range []string{"llama", "qwen3_moe", "deepseek_v3", "glm_moe_dsa"} {
		config := oracletest.Configs[name]
		c, err := checkpoint.Open(oracletest.Write(f, config, oracletest.Options{MTP: true}))
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(func() { c.Close() })
		files = append(files, c)
		for i := range len(numerics.Names()) {
			f.Add([]byte(config), uint8(len(files)-1), uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, config []byte, file, set uint8) {
		object, err := hfconfig.Decode(config)
		if err != nil {
			return
		}
		spec, err := family.Read(object)
		if err != nil {
			return
		}
		names := numerics.Names()
		num, err := numerics.Parse(names[int(set)%len(names)])
		if err != nil {
			t.Fatal(err)
		}
		src := &Source{Spec: spec, Files: files[int(file)%len(files)]}
		m, err := src.Model(num)
		if err != nil {
			return
		}
		s := m.NewSession(nil)
		hidden, err := s.Feed(t.Context(), []int{1, 0, 1})
		if err != nil {
			return
		}
		if logits := s.Logits(hidden); len(logits) != 3*spec.Vocab {
			t.Errorf("%d logits for a vocabulary of %d", len(logits), spec.Vocab)
		}
	})
}
