package home

import (
	"errors"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseEnv(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want []EnvEntry
	}{
		"plain":           {"A=1\nB = two words \n", []EnvEntry{{"A", "1"}, {"B", "two words"}}},
		"comments":        {"# c\n\n  # d\nA=1 # x\nB=a#b\nC=#x\n", []EnvEntry{{"A", "1"}, {"B", "a#b"}, {"C", ""}}},
		"export":          {"export A=1\nexport  B='x'\n", []EnvEntry{{"A", "1"}, {"B", "x"}}},
		"empty":           {"A=\nB=\"\"\nC=''", []EnvEntry{{"A", ""}, {"B", ""}, {"C", ""}}},
		"single":          {`A='a"\n$B#' # c`, []EnvEntry{{"A", `a"\n$B#`}}},
		"double":          {`A="a\n\t\"\\\$\q'"`, []EnvEntry{{"A", "a\n\t\"\\$\\q'"}}},
		"many lines":      {"A='x\ny'\nB=\"p\nq\"\n", []EnvEntry{{"A", "x\ny"}, {"B", "p\nq"}}},
		"windows":         {"\ufeffA=1\r\nB=\"2\"\r\n", []EnvEntry{{"A", "1"}, {"B", "2"}}},
		"last wins":       {"A=1\nB=2\nA=3\n", []EnvEntry{{"A", "3"}, {"B", "2"}}},
		"nothing expands": {"A=1\nB=$A${A}`id`\n", []EnvEntry{{"A", "1"}, {"B", "$A${A}`id`"}}},
	} {
		got, err := ParseEnv([]byte(tc.in))
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	for in, line := range map[string]int{"A=1\nsecret text\n": 2, "A='x\ny\n": 1, "A='x' y\n": 1, "A-B=1": 1, "=x": 1, "A=1\nB=\"\x00\"": 2, "\xff": 1} {
		_, err := ParseEnv([]byte(in))
		var syntax *ErrEnvSyntax
		if !errors.As(err, &syntax) || syntax.Line != line {
			t.Errorf("%q: %v", in, err)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows the line: %v", err)
		}
	}
}

// Property (NQ-7): whatever a value holds, it comes back; the bytes are the same every time (N-25).
func TestEnv_RoundTrip_NQ7(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	alphabet := []rune("ab='\"\\$#\n\r\t `{}!é\u0001%;&|<>*~")
	for range 3000 {
		var entries []EnvEntry
		for i := range rng.IntN(4) {
			var v strings.Builder
			for range rng.IntN(12) {
				v.WriteRune(alphabet[rng.IntN(len(alphabet))])
			}
			entries = append(entries, EnvEntry{Name: string(rune('A' + i)), Value: v.String()})
		}
		text := FormatEnv(entries)
		back, err := ParseEnv(text)
		if diff := cmp.Diff(entries, back); err != nil || diff != "" {
			t.Fatalf("%q: %v %s", text, err, diff)
		}
	}
}

// What a POSIX shell reads is the same value, as long as single quotes are enough.
func TestEnv_ShellReadsTheSame(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal("no sh on this system")
	}
	value := "a b#c\"$HOME `id`\nnext; é"
	file := filepath.Join(t.TempDir(), "env")
	mustWrite(t, file, string(FormatEnv([]EnvEntry{{"V", value}})))
	out, err := exec.Command(shell, "-c", `. "$1"; printf %s "$V"`, "sh", file).Output()
	if err != nil || string(out) != value {
		t.Errorf("%q, %v", out, err)
	}
}

func FuzzParseEnv(f *testing.F) {
	for _, s := range []string{"A=1", "export A='x'", "A=\"\\n\"", "A='\n", "#", "A=1 # c\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := ParseEnv(data)
		if err != nil {
			return
		}
		for _, e := range entries {
			if err := checkEnv(e.Name, e.Value); err != nil {
				t.Fatal(err)
			}
		}
		again, err := ParseEnv(FormatEnv(entries))
		if diff := cmp.Diff(entries, again); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
	})
}
