// Command tokenize writes the ids of texts: the other side of
// scripts/tokenizer-diff and scripts/gguf-tokenizer-diff. It reads one JSON string a line from standard input
// and writes one JSON list a line. PATH is a checkpoint's folder, its tokenizer.json
// or a GGUF file.
//
//	go run ./scripts/tokenize [--plain] PATH < texts.jsonl > ids.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"shakedown/internal/oracle/vocabulary"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tokenize:", err)
		os.Exit(1)
	}
}

func run() error {
	plain := flag.Bool("plain", false, "without the tokens that the model wants around a text")
	flag.Parse()
	if flag.NArg() != 1 {
		return fmt.Errorf("usage: tokenize [--plain] PATH < texts.jsonl")
	}
	t, err := vocabulary.Tokenizer(flag.Arg(0))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	for in := json.NewDecoder(bufio.NewReader(os.Stdin)); in.More(); {
		var text string
		if err := in.Decode(&text); err != nil {
			return err
		}
		line, err := json.Marshal(t.Encode(text, !*plain))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n", line)
	}
	return out.Flush()
}
