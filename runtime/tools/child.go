package tools

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// writePatience is how long a child may leave its input unread before writing to it fails.
const writePatience = 30 * time.Second

// ChildSpec is a program that is talked with over its standard input and output for a long time.
type ChildSpec struct {
	// Command is a path, or a name to be found on the PATH that the child gets.
	Command string
	Args    []string
	// Home is the profile's HERMES_HOME, Dir where the child runs.
	Home, Dir string
	// Environ is what is declared for the child, as KEY=value; it comes on top of the minimal environment.
	Environ []string
	// RunID of the gateway.
	RunID string
	// Orphans of the process, which must not take what the child starts for what another command left behind.
	Orphans *Orphans
	// Stderr takes what the child writes to its standard error; nil drops it.
	Stderr io.Writer
}

// Child is such a program while it runs, with everything it has started. Reading and writing is talking with it; its
// end is the end of what it started, too.
type Child struct {
	cmd            *exec.Cmd
	tree           *tree
	stdin, stdout  *os.File
	stderr         *os.File
	killed, done   chan struct{}
	kill, closeOut sync.Once
	end            ending
}

// StartChild starts a program in a session of its own, with a built environment (G-346): nothing of this process's
// environment, and nothing of the profile's but what is declared for the child, is in it.
func StartChild(s ChildSpec) (*Child, error) {
	commandHome, id := filepath.Join(s.Home, "home"), rand.Text()
	if err := checkEnviron(s.Environ); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(commandHome, 0o700); err != nil {
		return nil, err
	}
	environ := buildEnviron(Config{Home: s.Home, Workspace: s.Dir, RunID: s.RunID, Environ: s.Environ}, commandHome, id)
	path, err := findProgram(s.Command, s.Dir, environ)
	if err != nil {
		return nil, err
	}
	marker := callMarker + "=" + id
	c := &Child{killed: make(chan struct{}), done: make(chan struct{})}
	theirs, err := c.pipes()
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
	}()
	if err != nil {
		c.closePipes()
		return nil, err
	}
	c.cmd = &exec.Cmd{Path: path, Args: append([]string{s.Command}, s.Args...), Dir: s.Dir, Env: environ,
		Stdin: theirs[0], Stdout: theirs[1], Stderr: theirs[2], SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	// Claimed, and not begun like a command: a command that hides is left alone while another one runs that could have
	// started it, and a child may run for days.
	release := s.Orphans.Keep(Claim{Marker: marker})
	if err := c.cmd.Start(); err != nil {
		release()
		c.closePipes()
		return nil, fmt.Errorf("cannot start %s: %w", s.Command, plain(err))
	}
	c.tree = newTree(c.cmd.Process.Pid, nil, command{marker: marker}, c.stdout)
	go c.watch(s.Stderr, release)
	return c, nil
}

// pipes makes the three pipes and returns the child's ends.
func (c *Child) pipes() ([]*os.File, error) {
	var theirs []*os.File
	for i, ours := range []**os.File{&c.stdin, &c.stdout, &c.stderr} {
		read, write, err := os.Pipe()
		if err != nil {
			return theirs, err
		}
		if i == 0 {
			read, write = write, read
		}
		*ours, theirs = read, append(theirs, write)
	}
	return theirs, nil
}

func (c *Child) closePipes() {
	for _, f := range []*os.File{c.stdin, c.stdout, c.stderr} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// watch waits for the end, ends the whole tree with it and collects what is left.
func (c *Child) watch(stderr io.Writer, release func()) {
	defer close(c.done)
	defer release()
	if stderr == nil {
		stderr = io.Discard
	}
	exited := background(func() error { return awaitExit(c.cmd) })
	copied := background(func() error { return drain(stderr, c.stderr) })
	select {
	case <-exited.done:
	case <-c.killed:
		c.end.cancelled = true
	}
	c.end.leftovers, c.end.survivors = c.tree.kill()
	deadline := time.Now().Add(drainGrace)
	_, _ = c.stderr.SetReadDeadline(deadline), c.stdout.SetReadDeadline(deadline)
	<-exited.done
	_ = c.cmd.Wait() // its error repeats the exit state, or says that awaitExit has waited
	<-copied.done
	_ = c.stderr.Close()
	c.end.read(c.cmd.ProcessState)
}

// Read reads the child's standard output.
func (c *Child) Read(p []byte) (int, error) { return c.stdout.Read(p) }

// Write writes to the child's standard input. A child that does not read for long is an error, so that nobody waits
// for it for good.
func (c *Child) Write(p []byte) (int, error) {
	if err := c.stdin.SetWriteDeadline(time.Now().Add(writePatience)); err != nil {
		return 0, err
	}
	return c.stdin.Write(p)
}

// Kill ends the child and everything it has started, without waiting.
func (c *Child) Kill() { c.kill.Do(func() { close(c.killed) }) }

// Done is closed when the child and everything it has started is gone.
func (c *Child) Done() <-chan struct{} { return c.done }

// Close closes the child's input, which asks it to end, gives it until grace, ends the whole tree and waits for that.
func (c *Child) Close(grace <-chan time.Time) {
	_ = c.stdin.Close()
	select {
	case <-c.done:
	case <-grace:
		c.Kill()
		<-c.done
	}
	c.closeOut.Do(func() { _ = c.stdout.Close() })
}

// Ending says how a child that is Done has ended.
func (c *Child) Ending() string {
	switch {
	case c.end.cancelled:
		return "it was ended"
	case c.end.signal != "":
		return "it ended by signal: " + c.end.signal
	}
	return fmt.Sprintf("it ended with exit code %d", c.end.exitCode)
}

// findProgram finds a command as the child's own shell would; the PATH of this process has no say.
func findProgram(name, dir string, environ []string) (string, error) {
	if name == "" {
		return "", errors.New("there is no command")
	}
	if strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	search := ""
	for _, pair := range environ {
		if value, ok := strings.CutPrefix(pair, "PATH="); ok {
			search = value
		}
	}
	for _, d := range filepath.SplitList(search) {
		if !filepath.IsAbs(d) {
			continue // never a program that lies where the agent can put one
		}
		if path := filepath.Join(d, name); executable(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no command %q on the path %s: give its full path, or declare a PATH for it", name, search)
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no command %s", path)
	case err != nil:
		return fmt.Errorf("%s: %w", path, plain(err))
	case info.IsDir() || info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not an executable file", path)
	}
	return nil
}
