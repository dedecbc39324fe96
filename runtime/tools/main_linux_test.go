package tools

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain also makes the test binary the processes that tests need: `gateway-with-daemons DIR`.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "gateway-with-daemons" {
		if err := gatewayWithDaemons(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}
