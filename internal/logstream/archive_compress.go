package logstream

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// maxWindow bounds the memory that a zstd or xz stream can ask for: the largest
// window of zstd without --ultra --long=31, twice that of xz -9.
const maxWindow = 128 << 20

// decompress undoes the compression that a stream begins with, recognised by its
// magic bytes; other streams pass unchanged. Closing the result does not close
// stored.
func decompress(stored io.Reader) (io.ReadCloser, error) {
	r := bufio.NewReaderSize(stored, 64<<10)
	head, err := r.Peek(xzHeadSize)
	if err != nil && err != io.EOF {
		return readWith{r, noClose}, nil // reading will fail again
	}
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return gzip.NewReader(r)
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		if d := xzDictionary(head); d > maxWindow {
			return nil, fmt.Errorf("%w: the xz stream needs %d MiB of memory", ErrTooLarge, d>>20)
		}
		x, err := xz.NewReader(r)
		if err != nil {
			return nil, err
		}
		return readWith{x, noClose}, nil
	case bytes.HasPrefix(head, []byte("BZh")):
		return readWith{bzip2.NewReader(r), noClose}, nil
	}
	return readWith{r, noClose}, nil
}

func noClose() error { return nil }

// xzHeadSize covers an xz stream header (12 bytes), the header of the first block
// up to its filter, with both sizes.
const xzHeadSize = 12 + 2 + 2*binary.MaxVarintLen64 + 3

// xzDictionary returns the size of the dictionary that the first block of an xz
// stream asks for: the decoder allocates it whatever follows. Further blocks of
// one encoder have the same. Section 3.1 and 5.3.1 of the xz file format.
func xzDictionary(head []byte) int64 {
	if len(head) < 14 {
		return 0
	}
	flags := head[13]
	r := bytes.NewReader(head[14:])
	for _, present := range [...]byte{0x40, 0x80} {
		if flags&present != 0 {
			if _, err := binary.ReadUvarint(r); err != nil {
				return 0
			}
		}
	}
	var filter [3]byte
	if _, err := io.ReadFull(r, filter[:]); err != nil || filter[0] != 0x21 {
		return 0
	}
	bits := filter[2] & 0x3f
	return int64(2|bits&1) << (bits/2 + 11)
}
