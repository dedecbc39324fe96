package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/client-go/rest"

	"hermes.dev/hermes/cmd/hermes/internal/datadir"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/kube"
	"hermes.dev/hermes/cmd/hermes/internal/statusfeed"
	"hermes.dev/hermes/cmd/hermes/internal/statusview"
)

type statusFlags struct {
	all, watch bool
	output     string
}

func newStatus(c *cli) *cobra.Command {
	var f statusFlags
	command := &cobra.Command{
		Use:   "status [KIND/NAME]",
		Short: "Show what is not as declared, since when, why, and what to do",
		Long: `Show what is not as declared, since when, why, and what to do.

Everything shown is read from conditions at this moment. The exit code is 0 when all is Ready (or suspended
on purpose), else 1. With KIND/NAME all conditions of one object are shown, with their messages in full.`,
		Example: `  hermes status
  hermes status profile/alice
  hermes status -A --watch
  hermes status -o json`,
		Args: oneObject,
		RunE: func(cmd *cobra.Command, args []string) error { return c.status(cmd.Context(), f, args) },
	}
	flags := command.Flags()
	flags.BoolVarP(&f.all, "all-namespaces", "A", false, "show every namespace")
	flags.BoolVarP(&f.watch, "watch", "w", false, "keep showing, as it changes")
	flags.StringVarP(&f.output, "output", "o", "", "json (described in docs/status-json.md)")
	return command
}

// oneObject takes nothing, KIND/NAME, or KIND NAME as the other verbs do.
func oneObject(_ *cobra.Command, args []string) error {
	if len(args) > 2 || len(args) == 2 && strings.Contains(args[0], "/") {
		return exit.Usagef("unexpected argument %q: name one object as KIND/NAME", args[len(args)-1])
	}
	return nil
}

func (c *cli) status(ctx context.Context, f statusFlags, args []string) error {
	if f.output != "" && f.output != "json" {
		return exit.Usagef("-o %s: use json, or leave it out", f.output)
	}
	if f.watch && f.output != "" {
		return exit.Usagef("--watch shows text: leave -o out, or use hermes get --watch -o json")
	}
	s, err := c.newStatusScreen(f, args)
	if err != nil {
		return err
	}
	if f.watch {
		return s.watch(ctx)
	}
	view, err := s.read(ctx)
	if err != nil {
		return err
	}
	if f.output == "json" {
		err = printJSON(c, statusview.JSON(view))
	} else {
		_, err = io.WriteString(c.out, s.text(view))
	}
	if err == nil && view.NeedAttention() > 0 {
		err = exit.Silent(exit.Failed)
	}
	return err
}

// statusScreen is one hermes status: where it reads and how it shows.
type statusScreen struct {
	c      *cli
	client *kube.Client
	rest   rest.Interface
	query  statusfeed.Query
	plane  statusview.ControlPlane
	all    bool
}

func (c *cli) newStatusScreen(f statusFlags, args []string) (*statusScreen, error) {
	s := &statusScreen{c: c, all: f.all}
	if len(args) > 0 {
		object := strings.Join(args, "/")
		kind, name, found := strings.Cut(object, "/")
		known, ok := kube.LookupKind(kind)
		if !found || name == "" || !ok {
			return nil, exit.Usagef("%q is not KIND/NAME with KIND one of gateway, profile, relayidentity, metricsconsent, schedule", object)
		}
		if f.all {
			return nil, exit.Usagef("-A shows every object: leave %s out, or name its namespace with -n", object)
		}
		s.query.Kind, s.query.Name = known.Kind, name
	}
	var err error
	if s.client, err = c.client(); err != nil {
		return nil, err
	}
	if s.rest, err = s.client.Hermes(); err != nil {
		return nil, err
	}
	if !f.all {
		if s.query.Namespace, err = s.client.Namespace(); err != nil {
			return nil, err
		}
	}
	s.plane, err = planeOf(s.client)
	return s, err
}

// planeOf says which control plane a client reaches.
func planeOf(client *kube.Client) (statusview.ControlPlane, error) {
	cfg, err := client.ToRESTConfig()
	if err != nil {
		return statusview.ControlPlane{}, err
	}
	p := statusview.ControlPlane{Kind: string(client.Source.Kind), Address: cfg.Host, Kubeconfig: client.Source.Kubeconfig}
	if client.Source.Kind == datadir.Local {
		p.Address = strings.TrimPrefix(cfg.Host, "https://")
		if owner, ok := client.Source.Data.Up(); ok {
			p.Since = &owner.Since
		}
	}
	return p, nil
}

func (s *statusScreen) read(ctx context.Context) (statusview.View, error) {
	snapshot, err := statusfeed.List(ctx, s.rest, s.query)
	if err != nil {
		return statusview.View{}, s.client.Explain(err)
	}
	view := s.view(snapshot)
	if s.query.Name != "" && len(view.Rows) == 0 {
		return view, fmt.Errorf("%s %q does not exist in namespace %s", strings.ToLower(s.query.Kind), s.query.Name, s.query.Namespace)
	}
	return view, nil
}

func (s *statusScreen) view(snapshot statusview.Snapshot) statusview.View {
	if s.plane.Kind == string(datadir.Local) {
		snapshot.GatewayResidents = statusfeed.Residents(snapshot.Gateways)
		snapshot.Manifests = s.manifests()
	}
	return statusview.New(snapshot, s.plane, s.c.clock.Now())
}

func (s *statusScreen) text(view statusview.View) string {
	o := statusview.Options{Terminal: s.c.terminal(), Now: s.c.clock.Now(), AllNamespaces: s.all, Scope: "in namespace " + s.query.Namespace}
	if s.all {
		o.Scope = "in any namespace"
	}
	if s.query.Name != "" {
		return statusview.Detail(view, o)
	}
	return statusview.Render(view, o)
}

// terminal finds out what the reader's terminal can show.
func (c *cli) terminal() statusview.Terminal {
	t := statusview.Terminal{ASCII: !utf8Locale(c.getenv)}
	file, ok := c.out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		t.Width = statusview.NoLimit
		if columns, err := strconv.Atoi(c.getenv("COLUMNS")); err == nil && columns > 0 {
			t.Width = columns
		}
		return t
	}
	if width, _, err := term.GetSize(int(file.Fd())); err == nil {
		t.Width = width
	}
	t.Color = !c.noColor && c.getenv("NO_COLOR") == "" && c.getenv("TERM") != "dumb"
	return t
}

// utf8Locale follows the order in which the C library reads the locale.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := getenv(name); value != "" {
			value = strings.ToLower(value)
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}

// Escape sequences of a screen of its own: a watch leaves the terminal as it found it.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	redraw      = "\x1b[H\x1b[J"
)

// watch shows the view again each time an object changes, and once a second for the ages; that asks the
// server for nothing. On a terminal it has a screen of its own, else each change is printed below the last.
func (s *statusScreen) watch(ctx context.Context) error {
	if _, err := s.read(ctx); err != nil {
		return err // a watch would wait for a control plane that does not answer
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes := make(chan statusview.Snapshot)
	done := make(chan error, 1)
	go func() {
		done <- statusfeed.Watch(ctx, s.rest, s.query, func(snapshot statusview.Snapshot) bool {
			select {
			case changes <- snapshot:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	file, ok := s.c.out.(*os.File)
	onTerminal := ok && term.IsTerminal(int(file.Fd()))
	if onTerminal {
		fmt.Fprint(s.c.out, enterScreen)
		defer fmt.Fprint(s.c.out, leaveScreen)
	}
	ages := s.c.clock.NewTicker(time.Second)
	defer ages.Stop()
	var last statusview.Snapshot
	read, shown := false, ""
	show := func(always bool) {
		text := s.text(s.view(last))
		if text == shown || !(always || onTerminal) {
			return
		}
		shown = text
		if onTerminal {
			text = redraw + text
		}
		fmt.Fprint(s.c.out, text)
	}
	for {
		select {
		case err := <-done:
			if ctx.Err() != nil {
				return nil // asked to stop
			}
			return s.client.Explain(err)
		case last = <-changes:
			read = true
			show(true)
		case <-ages.C():
			if read {
				show(false)
			}
		}
	}
}
