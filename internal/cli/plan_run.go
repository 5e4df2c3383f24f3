package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"shakedown/internal/logstream"
	"shakedown/internal/planner"
)

// runPlan plans one launch, or the cases of a batch.
func runPlan(_ context.Context, o *planOptions) error {
	return runPlanBatch(o)
}

// runPlanBatch answers the cases of a file.
func runPlanBatch(o *planOptions) error {
	var in io.Reader = o.world.Stdin
	if o.batch != logstream.Stdin {
		f, err := os.Open(o.batch)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	unreadable, err := planner.Batch(in, o.world.Stdout)
	if err != nil {
		return fmt.Errorf("%s: %w", o.batch, err)
	}
	if unreadable > 0 {
		return inputError(fmt.Errorf("%s: %d cases cannot be planned; their answers say why (stage \"input\")", o.batch, unreadable), "")
	}
	return nil
}
