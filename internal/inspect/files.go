package inspect

import (
	"fmt"
	"strings"

	"shakedown/internal/checkpoint"
	"shakedown/internal/finding"
)

// checkOf says which check a problem of the files belongs to.
var checkOf = map[checkpoint.Kind]string{
	checkpoint.MissingFile: "CKPT-FILE-001", checkpoint.Truncated: "CKPT-FILE-002", checkpoint.Pointer: "CKPT-FILE-003",
	checkpoint.BadHeader: "CKPT-FILE-004", checkpoint.HeaderTooLarge: "CKPT-FILE-004", checkpoint.OutOfBounds: "CKPT-FILE-004",
	checkpoint.SizeMismatch: "CKPT-FILE-004", checkpoint.UnknownDType: "CKPT-FILE-004",
	checkpoint.Overlap: "CKPT-FILE-005", checkpoint.Gap: "CKPT-FILE-005", checkpoint.TrailingBytes: "CKPT-FILE-005",
	checkpoint.DuplicateTensor: "CKPT-FILE-006", checkpoint.Unreadable: "CKPT-FILE-007",
	checkpoint.NoWeights: "CKPT-FILE-008", checkpoint.OtherFormat: "CKPT-FILE-008", checkpoint.UnlistedFile: "CKPT-FILE-009",
	checkpoint.IndexNoTensor: "CKPT-INDEX-001", checkpoint.IndexWrongFile: "CKPT-INDEX-002", checkpoint.IndexUnlisted: "CKPT-INDEX-003",
	checkpoint.IndexSize: "CKPT-INDEX-004", checkpoint.BadIndex: "CKPT-INDEX-005", checkpoint.NoIndex: "CKPT-INDEX-006",
	checkpoint.NoConfig: "CKPT-CONF-001", checkpoint.BadConfig: "CKPT-CONF-002",
}

// maxEvidence is how many problems of one kind and file a finding quotes.
const maxEvidence = 8

// files turns the problems of the files into findings, one for each check and
// file.
func (x *inspector) files() {
	type key struct{ id, file string }
	groups := map[key][]checkpoint.Problem{}
	var order []key
	for _, p := range x.c.Problems {
		id := checkOf[p.Kind]
		if p.Kind == checkpoint.DuplicateName {
			id = "CKPT-FILE-004"
			if x.c.Index != nil && p.File == x.c.Index.File {
				id = "CKPT-INDEX-005"
			}
		}
		k := key{id, p.File}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], p)
	}
	for _, k := range order {
		x.addProblems(k.id, groups[k])
	}
	if x.c.HeadersOnly() && x.c.Index != nil {
		x.notes = append(x.notes, fmt.Sprintf("no weight file is here: judged from config.json and the names in %s; shapes, types and values are unknown", x.c.Index.File))
	}
	for _, f := range x.c.Extra {
		x.notes = append(x.notes, f.Name+" is no part of this checkpoint and was left out")
	}
}

func (x *inspector) addProblems(id string, ps []checkpoint.Problem) {
	p := ps[0]
	h := hit{subject: finding.Subject{File: p.File, Tensor: p.Tensor}}
	var names []string
	for _, p := range ps {
		h.count += 1 + p.More
		if p.Tensor != "" {
			names = append(names, p.Tensor)
		}
		if len(h.evidence) < maxEvidence {
			h.evidence = append(h.evidence, finding.Evidence{Kind: "tensor", File: p.File, Tensor: p.Tensor, Text: sentence(p)})
		}
	}
	title := checkByID[id].Title
	switch {
	case h.count > 1 && len(names) > 0:
		h.title = fmt.Sprintf("%s: %s, %s", title, p.File, plural(h.count, "tensor", "tensors"))
	case p.Tensor != "":
		h.title = fmt.Sprintf("%s: %s, %s", title, p.File, p.Tensor)
	default:
		h.title = fmt.Sprintf("%s: %s", title, p.File)
	}
	x.add(id, h)
}

// sentence is what is there and what was expected.
func sentence(p checkpoint.Problem) string {
	switch {
	case p.Got == "":
		return "expected " + p.Want
	case p.Want == "":
		return p.Got
	}
	return strings.TrimSpace(p.Got) + "; expected " + p.Want
}
