// Package load opens a checkpoint as a model of package oracle: it finds the
// family, binds each matrix to the bytes in which it is stored, treats scales as
// a Numerics says, and foresees what can't work: weights that are no numbers, and
// memory that does not suffice.
//
// Weights are never expanded: they stay in the mapped file, which the operating
// system reads when they are used, so that a checkpoint may be larger than the
// memory. Only a treatment of scales that changes codes (scales=ue8m0) and faults
// of weights make copies.
package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"shakedown/internal/checkpoint"
	"shakedown/internal/kernel"
	"shakedown/internal/oracle"
	"shakedown/internal/oracle/family"
	"shakedown/internal/oracle/numerics"
)

// Source is an open checkpoint of a supported family. Models made from it must
// not be used after Close.
type Source struct {
	Spec  *family.Spec
	Files *checkpoint.Checkpoint
	pool  *kernel.Pool
}

// Open reads the headers and the configuration of a checkpoint: a folder in the
// Hugging Face layout, or a GGUF file. An
// unsupported model_type is a *family.UnsupportedError, wrapped.
func Open(path string) (*Source, error) {
	c, err := checkpoint.Open(path)
	if err != nil {
		return nil, err
	}
	spec, err := describe(c)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), c.Close())
	}
	return &Source{Spec: spec, Files: c, pool: kernel.NewPool(0)}, nil
}

func describe(c *checkpoint.Checkpoint) (*family.Spec, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	switch {
	case c.Format == checkpoint.GGUF:
		return describeGGUF(c)
	case c.Config.Config == nil:
		return nil, errors.New("no config.json beside the weights")
	case c.HeadersOnly():
		return nil, errors.New("only the index is here: the weight files are needed")
	}
	return family.Read(c.Config.Config)
}

// Close ends all mappings.
func (s *Source) Close() error { return s.Files.Close() }

// Model binds the checkpoint to an arithmetic. A missing weight, one of another
// shape and an unsupported storage are errors that name it.
func (s *Source) Model(n numerics.Numerics) (*oracle.Model, error) {
	var w oracle.Weights = &weights{c: s.Files, num: n}
	if s.Files.Format == checkpoint.GGUF {
		w = &gguf{s.Files}
	}
	if room, short := s.short(); short {
		w = newPaged(w, s.Files, room)
	}
	m, err := oracle.New(s.Spec, w, n, s.pool)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Files.Path, err)
	}
	return m, nil
}

// count is a number as a config.json has it.
func count(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// short says whether the tensors do not fit together into the room that is left.
func (s *Source) short() (room int64, short bool) {
	room, ok := availableMemory()
	return room, ok && s.bytes() > room
}

// bytes is the size of all tensors.
func (s *Source) bytes() int64 {
	var n int64
	for _, t := range s.Files.Tensors() {
		n += t.Size
	}
	return n
}
