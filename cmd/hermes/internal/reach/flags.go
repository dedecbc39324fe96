package reach

import (
	"github.com/spf13/pflag"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
)

// Flags say which profile a verb is about, and where it is when the control plane need not be asked.
type Flags struct {
	// Profile is its name; "" means the only one, or the one named default.
	Profile string
	// Home is the profile's own directory, or a home root that holds it.
	Home string
	// Socket is the API socket of the gateway that serves it.
	Socket string
}

// Register adds the flags.
func (f *Flags) Register(flags *pflag.FlagSet) {
	f.RegisterProfile(flags)
	f.RegisterPlace(flags)
}

// RegisterProfile adds -p alone, for what only the control plane can do.
func (f *Flags) RegisterProfile(flags *pflag.FlagSet) {
	flags.StringVarP(&f.Profile, "profile", "p", "", "profile (default: the only one, or the one named default)")
}

// RegisterPlace adds what Register adds to -p.
func (f *Flags) RegisterPlace(flags *pflag.FlagSet) {
	flags.StringVar(&f.Home, "home", "", "home of the profile, or home root that holds it, instead of asking the control plane")
	flags.StringVar(&f.Socket, "socket", "", "API socket of a gateway, instead of looking it up")
}

// Argument takes the profile from the argument [NAME] or from -p. The error is a wrong command line.
func (f *Flags) Argument(args []string) error {
	switch {
	case len(args) > 1:
		return exit.Usagef("unexpected argument %q: name one profile", args[1])
	case len(args) == 1 && f.Profile != "" && f.Profile != args[0]:
		return exit.Usagef("the argument says profile %s and -p says %s: name one of them", args[0], f.Profile)
	case len(args) == 1:
		f.Profile = args[0]
	}
	return f.check()
}

func (f *Flags) check() error {
	if f.Home != "" && f.Socket != "" {
		return exit.Usagef("--home says where a profile's files are and --socket where its gateway answers: use one of them")
	}
	return nil
}
