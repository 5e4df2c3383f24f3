package inspect

import (
	"shakedown/internal/checkpoint"
	"shakedown/internal/hfconfig"
)

// Promised lists the weights that a config.json promises, with layers for
// multi-token prediction, as name and shape.
func Promised(config []byte) (names []string, shapes [][]int) {
	o, err := hfconfig.Decode(config)
	if err != nil {
		panic(err)
	}
	l := newLayout(&checkpoint.Checkpoint{Config: hfconfig.Model{Config: o}})
	ws := l.wants()
	for i := l.layers; i < l.layers+l.mtp; i++ {
		ws = append(append(ws, l.layer(i)...), l.draft(i)...)
	}
	for _, w := range ws {
		names = append(names, w.module+"."+w.part)
		shapes = append(shapes, w.shape)
	}
	return names, shapes
}
