// Command fakemodel runs the scripted model server of test/fakemodel by itself, for trying a profile without a provider.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"hermes.dev/hermes/test/fakemodel"
)

func main() {
	addr := flag.String("addr", "", "loopback address to serve on; default is a free port")
	script := flag.String("script", "", "file with a JSON list of turns; default repeats what the user said")
	keys := flag.String("keys", "", "comma-separated keys to allow; default allows every key")
	flag.Parse()
	if err := run(*addr, *script, *keys); err != nil {
		fmt.Fprintln(os.Stderr, "fakemodel:", err)
		os.Exit(1)
	}
}

func run(addr, script, keys string) error {
	var turns []fakemodel.Turn
	if script != "" {
		b, err := os.ReadFile(script)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(b, &turns); err != nil {
			return fmt.Errorf("%s must be a JSON list of turns: %w", script, err)
		}
	}
	s, err := fakemodel.Start(addr)
	if err != nil {
		return err
	}
	defer s.Close()
	s.Script(turns...)
	if keys != "" {
		s.AllowKeys(strings.Split(keys, ",")...)
	}
	fmt.Println(s.URL())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	return nil
}
