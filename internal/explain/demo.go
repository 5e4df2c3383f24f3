package explain

import (
	"bytes"
	"context"
	_ "embed"
	"io"

	"shakedown/internal/logstream"
)

//go:embed demo/founding.log
var demoLog []byte

// DemoName is the name under which the embedded log appears in reports.
const DemoName = "demo/founding.log"

// Demo is a log that comes with the binary: GLM-5-NVFP4 on SGLang 0.5.9 and
// eight RTX PRO 6000, rebuilt by hand from the facts of a real night. It holds
// two launches; both become ready and die at the first sampled request.
func Demo() logstream.Source {
	return logstream.Source{Name: DemoName, Size: int64(len(demoLog)), Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(demoLog)), nil
	}}
}
