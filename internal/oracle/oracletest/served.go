package oracletest

import (
	"encoding/json"
)

// ServedVocab is the vocab_size of models that Served makes.
const ServedVocab = 272

// ServedTemplate is the chat template of models that Served makes.
const ServedTemplate = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"

// Served are the files of a checkpoint that can be served: with a tokenizer that has
// one token for each byte, a chat template and tokens that end an answer. Its
// vocab_size is ServedVocab.
func Served(config string, opt Options) (map[string]any, error) {
	var fields map[string]any
	if err := json.Unmarshal([]byte(config), &fields); err != nil {
		return nil, err
	}
	fields["vocab_size"] = ServedVocab
	changed, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	files, err := Files(string(changed), opt)
	if err != nil {
		return nil, err
	}
	vocab := map[string]int{}
	for b, r := range byteLetters() {
		vocab[string(r)] = b
	}
	files["tokenizer.json"], err = tokenizerJSON(vocab, 256, true, "<|end|>", "<|user|>", "<|assistant|>", "<|system|>")
	files["chat_template.jinja"] = ServedTemplate
	files["generation_config.json"] = `{"eos_token_id":[256]}`
	return files, err
}

// byteLetters is the alphabet of byte-level tokenizers: printable characters of
// Latin-1 stand for themselves, the other bytes for the characters from U+0100 on
// (openai/gpt-2, src/encoder.py, bytes_to_unicode).
func byteLetters() [256]rune {
	var letters [256]rune
	next := rune(256)
	for b := range letters {
		r := rune(b)
		if r >= '!' && r <= '~' || r >= '¡' && r <= '¬' || r >= '®' {
			letters[b] = r
			continue
		}
		letters[b] = next
		next++
	}
	return letters
}
