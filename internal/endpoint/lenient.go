package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"shakedown/internal/probe"
)

// plainJSON makes proper JSON of what Python prints: the words NaN, Infinity and
// -Infinity outside of texts become texts. odd says that there were some.
func plainJSON(data []byte) (out []byte, odd bool) {
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return data, false
	}
	words := []string{"-Infinity", "Infinity", "NaN"}
	done, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '-' || c == 'I' || c == 'N':
			for _, w := range words {
				if bytes.HasPrefix(data[i:], []byte(w)) {
					out = append(append(append(append(out, data[done:i]...), '"'), w...), '"')
					i += len(w) - 1
					done, odd = i+1, true
					break
				}
			}
		}
	}
	return append(out, data[done:]...), odd
}

// readJSON decodes an answer as far as it fits. The words say what does not fit;
// the error that it is no JSON at all.
func readJSON(data []byte, v any) (odd []string, err error) {
	data, words := plainJSON(bytes.TrimPrefix(data, []byte("\ufeff")))
	if words {
		odd = append(odd, "the answer spells numbers NaN or Infinity, which JSON does not have")
	}
	err = json.Unmarshal(data, v)
	var shape *json.UnmarshalTypeError
	if errors.As(err, &shape) {
		where := shape.Field
		if where == "" {
			where = "the answer"
		}
		return append(odd, fmt.Sprintf("%s is a %s", where, shape.Value)), nil
	}
	return odd, err
}

// number is a logprob as servers write it.
type number probe.Logprob

// UnmarshalJSON never fails: whatever is no number is null.
func (n *number) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	v, err := strconv.ParseFloat(text, 64)
	var bounds *strconv.NumError
	if err != nil && !(errors.As(err, &bounds) && bounds.Err == strconv.ErrRange) || math.IsNaN(v) || math.IsInf(v, 1) {
		*n = number{Null: true}
		return nil
	}
	*n = number{Value: v}
	return nil
}

// ranking is the list of the likeliest tokens as an object from text to logprob,
// in the order of the server, with texts that come twice.
type ranking []probe.Ranked

// UnmarshalJSON reads the object by hand, because a map would lose the order and
// the second of two tokens with the same text.
func (r *ranking) UnmarshalJSON(data []byte) error {
	return eachField(data, func(name string, value json.RawMessage) {
		var n number
		_ = n.UnmarshalJSON(value) // never fails
		*r = append(*r, probe.Ranked{ID: tokenOf(name), Text: name, Logprob: probe.Logprob(n)})
	})
}

// eachField calls f for the fields of an object; anything else has none.
func eachField(data []byte, f func(name string, value json.RawMessage)) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		f(name, value)
	}
	return nil
}

// sortLikeliest puts the likeliest first and leaves those without a number where
// they are, behind.
func sortLikeliest(r []probe.Ranked) {
	slices.SortStableFunc(r, func(a, b probe.Ranked) int {
		switch {
		case a.Logprob.Null || b.Logprob.Null:
			if a.Logprob.Null == b.Logprob.Null {
				return 0
			}
			if a.Logprob.Null {
				return 1
			}
			return -1
		case a.Logprob.Value > b.Logprob.Value:
			return -1
		case a.Logprob.Value < b.Logprob.Value:
			return 1
		}
		return 0
	})
}

// tokenOf is the id of a token that is called "token_id:N", as vLLM and shakedown
// do on request; -1 for another name.
func tokenOf(name string) int {
	if digits, ok := strings.CutPrefix(name, "token_id:"); ok {
		if n, err := strconv.Atoi(digits); err == nil && n >= 0 {
			return n
		}
	}
	return -1
}
