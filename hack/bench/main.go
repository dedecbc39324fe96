package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// scenario brings a system into a state and takes the figures that can be seen there.
type scenario struct {
	name string
	run  func(ctx context.Context, e *env) ([]figure, error)
}

func scenarios() []scenario {
	return []scenario{
		{"command-line", commandLine},
		{"control-plane", controlPlane},
		{"hundred-profiles", hundredProfiles},
		{"thousand-profiles", thousandProfiles},
		{"hot-paths", hotPaths},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	ctrl.SetLogger(logr.Discard()) // the libraries' own words are about the systems that are measured
	e := &env{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("run", "", "regular expression of the scenarios to run")
	count := flags.Int("count", 3, "runs of each scenario")
	quick := flags.Bool("quick", false, "one run with 200 profiles and short pauses")
	flags.StringVar(&e.bin, "bin", "bin", "directory of hermes and hermes-apiserver")
	flags.IntVar(&e.profiles, "profiles", 1000, "profiles of the large scenario")
	if err := flags.Parse(args); err != nil {
		return err
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	if *quick {
		*count, e.profiles, e.quick = 1, min(e.profiles, 200), true
	}
	if err := e.prepare(); err != nil {
		return err
	}
	defer os.RemoveAll(e.dir) //nolint:errcheck // a temporary directory
	results := newTable()
	var errs []error
	for _, s := range scenarios() {
		for range *count {
			if !match.MatchString(s.name) || ctx.Err() != nil {
				continue
			}
			fmt.Fprintf(os.Stderr, "… %s\n", s.name)
			figures, err := s.run(ctx, e)
			results.add(figures) // what was measured before it failed still counts
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
				break
			}
		}
	}
	results.print(os.Stdout)
	return errors.Join(errs...)
}
