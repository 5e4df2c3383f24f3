// Command tokenize writes the ids of texts: the other side of
// scripts/tokenizer-diff. It reads one JSON string a line from standard input
// and writes one JSON list a line.
//
//	go run ./scripts/tokenize tokenizer.json < texts.jsonl > ids.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"shakedown/internal/oracle/tokenizer"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tokenize:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: tokenize tokenizer.json < texts.jsonl")
	}
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	t, err := tokenizer.FromJSON(data)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	for in := json.NewDecoder(bufio.NewReader(os.Stdin)); in.More(); {
		var text string
		if err := in.Decode(&text); err != nil {
			return err
		}
		line, err := json.Marshal(t.Encode(text, true))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", line)
	}
	return out.Flush()
}
