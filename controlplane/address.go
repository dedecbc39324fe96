package controlplane

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"

	"github.com/google/renameio/v2"
)

// ChooseAddress returns the HOST:PORT to serve on: want if it is not empty, else the address remembered
// in the data directory, else a free loopback port. The answer is remembered, so that kubeconfigs a person
// has copied stay valid. It does not check that a remembered port is free: whoever has taken it is named
// by the start that fails.
func ChooseAddress(dataDir, want string) (string, error) {
	path := Layout{Dir: dataDir}.Address()
	if want == "" {
		remembered, err := os.ReadFile(path)
		if err == nil {
			want = strings.TrimSpace(string(remembered))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("read the remembered address: %w", err)
		}
	}
	chosen, err := resolve(want)
	if err != nil {
		return "", err
	}
	if chosen == want {
		if raw, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(raw)) == chosen {
			return chosen, nil
		}
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return "", fmt.Errorf("remember the address: %w", err)
	}
	if err := renameio.WriteFile(path, []byte(chosen+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("remember the address: %w", err)
	}
	return chosen, nil
}

// resolve checks that want is a loopback HOST:PORT and fills in a free port for none or 0.
func resolve(want string) (string, error) {
	if want == "" {
		want = "127.0.0.1:0"
	}
	host, port, err := net.SplitHostPort(want)
	if err != nil {
		return "", fmt.Errorf("address %q is not HOST:PORT, for example 127.0.0.1:34567", want)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", fmt.Errorf("address %q is not a loopback address: use 127.0.0.1:%s", want, port)
	}
	if port != "0" {
		return want, nil
	}
	l, err := net.Listen("tcp", want)
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close() //nolint:errcheck // nothing was sent
	return l.Addr().String(), nil
}
