package logstream

import (
	"bytes"
	"encoding/binary"
	"path"
	"strings"
)

// magics are the formats that are taken for a log by mistake, by their first
// bytes.
var magics = []struct {
	at    int
	magic string
	kind  string
}{
	{0, "GGUF", "a GGUF model"},
	{0, "\x7fELF", "an ELF program or library"},
	{0, "MZ\x90\x00", "a Windows program"},
	{0, "%PDF-", "a PDF document"},
	{0, "\x89PNG\r\n", "a PNG image"},
	{0, "\xff\xd8\xff", "a JPEG image"},
	{0, "PAR1", "a Parquet file"},
	{0, "\x93NUMPY", "a NumPy array"},
	{0, "SQLite format 3\x00", "an SQLite database"},
	{0, "PK\x03\x04", "a zip archive (not opened here: unpack it first)"},
	{257, "ustar", "a tar archive (not opened here: unpack it first)"},
	{0, "\x80\x02", "a Python pickle"},
	{0, "\x80\x04", "a Python pickle"},
}

// binaryKind names the binary format that a stream begins with, "" for text.
func binaryKind(head []byte) string {
	for _, m := range magics {
		if hasPrefixAt(head, m.at, m.magic) {
			return m.kind
		}
	}
	switch {
	case isSafetensors(head):
		return "a safetensors file"
	case utf16Order(head) == nil && isBinary(head):
		return "binary data"
	}
	return ""
}

// isSafetensors recognises the format: the length of a JSON header (8 bytes,
// little-endian, at most 100 MB), then that header.
func isSafetensors(head []byte) bool {
	return len(head) >= 10 && head[8] == '{' && head[7] == 0 &&
		binary.LittleEndian.Uint64(head) <= 100_000_000
}

// isBinary reports whether more than one byte in 20 is a control character that
// no terminal output holds. NUL is not counted: logs are padded with it. Random
// bytes have one in ten.
func isBinary(head []byte) bool {
	text, control := 0, 0
	for _, c := range head {
		switch {
		case c == 0:
		case c >= ' ' && c != 0x7f, '\b' <= c && c <= '\r', c == 0x1b:
			text++
		default:
			control++
		}
	}
	return control*20 > text+control && control > 1
}

// notLogs are the extensions that are passed over in directories and archives,
// because no server's output is called so. A file that is named itself is always
// read.
var notLogs = func() map[string]bool {
	set := make(map[string]bool)
	for ext := range strings.FieldsSeq(`
		safetensors gguf bin pt pth ckpt onnx engine plan npy npz parquet arrow pkl model tiktoken
		so o a dll exe pyc whl cubin ptx fatbin ncu-rep nsys-rep sqlite db
		png jpg jpeg gif svg webp pdf mp4 ico woff woff2
		py pyi go rs c cc cpp cu cuh h hpp js mjs ts css html jinja
		json jsonl yaml yml toml ini cfg lock csv tsv xml proto`) {
		set["."+ext] = true
	}
	return set
}()

// mayBeLog reports whether a file of a directory or archive is worth opening, by
// its slash-separated path. Hidden files and folders are not; docker's log files
// end in "-json.log".
func mayBeLog(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || part == "__MACOSX" {
			return false
		}
	}
	return !notLogs[strings.ToLower(path.Ext(name))]
}

// archive is a container of several files.
type archive int

const (
	noArchive archive = iota
	zipArchive
	tarArchive
)

// archiveKind recognises an archive by its first bytes.
func archiveKind(head []byte) archive {
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return zipArchive
	case hasPrefixAt(head, 257, "ustar"):
		return tarArchive
	}
	return noArchive
}
