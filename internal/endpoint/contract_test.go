package endpoint_test

import (
	"testing"

	"shakedown/internal/endpoint/endpointtest"
)

func TestContract(t *testing.T) {
	for _, e := range endpointtest.Engines() {
		name := e.Name
		if name == "" {
			name = "unknown"
		}
		t.Run(name, func(t *testing.T) { endpointtest.Check(t, e) })
	}
}
