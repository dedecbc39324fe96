//go:build linux

package process

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain turns the test binary into the processes that the tests supervise:
// `gateway run …` is a gateway, `supervise` is an operator with this engine,
// `sleeper` is something a gateway started.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "gateway":
			fakeGateway(os.Args)
			return
		case "supervise":
			superviseMain()
			return
		case "sleeper":
			select {}
		}
	}
	// `go test` and anything else.
	if err := os.Setenv("HERMES_MUST_NOT_LEAK", "into gateways"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}
