package home

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"hermes.dev/hermes/api/v1alpha1"
)

// Names in .env that the runtime owns. A person cannot declare them: CEL refuses HERMES_ in spec.env and Render
// ignores it in spec.envFrom.
const (
	runtimeEnvPrefix = "HERMES_"
	modelKeyEnv      = "HERMES_MODEL_API_KEY"
	fallbackKeyEnv   = "HERMES_FALLBACK_%d_API_KEY"
)

var envVarName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Render turns a Profile and the values it refers to into its home. It is pure: the same input gives the same
// bytes. A referenced value that is absent or empty is left out and listed in Bundle.Missing; nothing takes its
// place. Errors are *ErrConfigInvalid, *ErrPathInvalid or *ErrTooLarge.
func Render(p *v1alpha1.Profile, in Resolved) (Bundle, error) {
	r := &renderer{in: in, spec: &p.Spec}
	r.b = Bundle{
		Version: BundleVersion, Namespace: p.Namespace, Profile: p.Name, UID: string(p.UID),
		Gateway: p.Spec.GatewayRef.Name, Suspended: p.Spec.Suspended,
	}
	if r.b.Gateway == "" {
		r.b.Gateway = v1alpha1.DefaultGatewayName
	}
	if _, err := ParseProfileName(p.Name); err != nil {
		return Bundle{}, &ErrPathInvalid{Path: p.Name, Problem: err.Error()}
	}
	for _, step := range []func() error{r.declaredEnv, r.credentials, r.config, r.homeFiles, r.workspace} {
		if err := step(); err != nil {
			return Bundle{}, err
		}
	}
	if n := len(r.b.Encode()); n > MaxBundleSize {
		return Bundle{}, &ErrTooLarge{Size: n}
	}
	return r.b, nil
}

type renderer struct {
	in   Resolved
	spec *v1alpha1.ProfileSpec
	b    Bundle
}

// value looks a reference up. Absent and empty are one answer to the caller and two in Missing.
func (r *renderer) value(ref Ref) ([]byte, bool) {
	object, found := r.in.object(ref.Kind, ref.Name)
	if v := object[ref.Key]; found && len(v) > 0 {
		return v, true
	}
	r.miss(ref, !found)
	return nil, false
}

func (r *renderer) miss(ref Ref, notFound bool) {
	r.b.Missing = append(r.b.Missing, MissingRef{Kind: ref.Kind, Name: ref.Name, Key: ref.Key, Field: ref.Field, NotFound: notFound})
}

// setEnv adds a variable at the end; an earlier one of that name goes. Later wins.
func (r *renderer) setEnv(name, value string) {
	r.unsetEnv(name)
	r.b.Env = append(r.b.Env, EnvEntry{Name: name, Value: value})
}

func (r *renderer) unsetEnv(name string) {
	r.b.Env = slices.DeleteFunc(r.b.Env, func(e EnvEntry) bool { return e.Name == name })
}

func checkEnv(name, value string) error {
	switch {
	case !envVarName.MatchString(name):
		return &ErrConfigInvalid{Key: name, Problem: "a variable's name has only letters, digits and '_': rename it"}
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		return &ErrConfigInvalid{Key: name, Problem: "the value is not text: declare it as a file in homeFiles instead"}
	default:
		return nil
	}
}

// declaredEnv takes envFrom in order (keys sorted), then env over it.
func (r *renderer) declaredEnv() error {
	for i, e := range r.spec.EnvFrom {
		ref, ok := envFromRef(e, i)
		if !ok {
			continue
		}
		object, found := r.in.object(ref.Kind, ref.Name)
		if !found || len(object) == 0 {
			r.miss(ref, !found)
			continue
		}
		for _, key := range sortedKeys(object) {
			r.envFromKey(ref, e.Prefix+key, key, object[key])
		}
	}
	for _, e := range r.spec.Env {
		if strings.HasPrefix(e.Name, runtimeEnvPrefix) {
			return &ErrConfigInvalid{Key: e.Name, Problem: "names that start with HERMES_ are set by the runtime: choose another name"}
		}
		value, ok := r.envValue(e, "spec.env")
		if !ok {
			// A missing explicit variable must not fall back to one of that name from envFrom.
			r.unsetEnv(e.Name)
			continue
		}
		if err := checkEnv(e.Name, value); err != nil {
			return err
		}
		r.setEnv(e.Name, value)
	}
	return nil
}

func (r *renderer) envFromKey(ref Ref, name, key string, value []byte) {
	why := ""
	switch err := checkEnv(name, string(value)); {
	case err != nil:
		why = err.Error()
	case strings.HasPrefix(name, runtimeEnvPrefix):
		why = "names that start with HERMES_ are set by the runtime"
	}
	if why != "" {
		r.b.Ignored = append(r.b.Ignored, IgnoredKey{Kind: ref.Kind, Name: ref.Name, Key: key, Why: why})
		return
	}
	if len(value) == 0 {
		ref.Key = key
		r.miss(ref, false)
		r.unsetEnv(name)
		return
	}
	r.setEnv(name, string(value))
}

func (r *renderer) envValue(e v1alpha1.EnvVar, field string) (string, bool) {
	ref, ok := sourceRef(e.ValueFrom, envField(field, e.Name))
	if !ok {
		if e.Value == nil {
			return "", true
		}
		return *e.Value, true
	}
	value, ok := r.value(ref)
	return string(value), ok
}

// credentials puts API keys into .env. The number in a name is the position in the spec, so a missing key leaves
// a gap and no other key changes its name.
func (r *renderer) credentials() error {
	for i, c := range r.spec.Model.Credentials {
		if err := r.credential(modelKeyEnv, i, credentialRef(c, "spec.model.credentials", i)); err != nil {
			return err
		}
	}
	for i, f := range r.spec.Model.Fallbacks {
		for j, c := range f.Credentials {
			ref := credentialRef(c, fmt.Sprintf("spec.model.fallbacks[%d].credentials", i), j)
			if err := r.credential(fmt.Sprintf(fallbackKeyEnv, i+1), j, ref); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *renderer) credential(base string, i int, ref Ref) error {
	value, ok := r.value(ref)
	if !ok {
		return nil
	}
	key := string(bytes.TrimSpace(value)) // kubectl --from-file keeps the newline of the file
	if key == "" {
		r.miss(ref, false)
		return nil
	}
	if err := checkEnv(base, key); err != nil {
		return &ErrConfigInvalid{Key: ref.Field, Problem: "the API key is not text: put the plain key into the Secret"}
	}
	r.setEnv(numbered(base, i), key)
	return nil
}

// numbered is base for the first of a list and base_2, base_3 ... for the others.
func numbered(base string, i int) string {
	if i == 0 {
		return base
	}
	return fmt.Sprintf("%s_%d", base, i+1)
}

func (r *renderer) homeFiles() error {
	files, err := r.files(r.spec.HomeFiles, "spec.homeFiles", CheckHomePath)
	if err != nil {
		return err
	}
	if id := r.spec.Identity; id != nil {
		for path := range r.spec.HomeFiles {
			if strings.EqualFold(path, soulName) {
				return &ErrPathInvalid{Path: path, Problem: "spec.identity already declares SOUL.md: remove it from spec.homeFiles"}
			}
		}
		ref, byRef := sourceRef(id.SoulFrom, "spec.identity.soulFrom")
		switch {
		case id.Soul != nil:
			files[soulName] = []byte(*id.Soul)
		case byRef:
			if v, ok := r.value(ref); ok {
				files[soulName] = v
			}
		}
	}
	r.b.HomeFiles = files
	return checkTree(files)
}

func (r *renderer) workspace() error {
	w := r.spec.Workspace
	if w == nil {
		return nil
	}
	if w.Directory == "" && len(w.Documents) > 0 {
		return &ErrPathInvalid{Path: sortedKeys(w.Documents)[0], Problem: "spec.workspace.documents need spec.workspace.directory: set it, or use spec.homeFiles"} // N-31
	}
	files, err := r.files(w.Documents, "spec.workspace.documents", CheckDocumentPath)
	if err != nil {
		return err
	}
	r.b.WorkspaceDirectory, r.b.Documents = w.Directory, files
	return checkTree(files)
}

// files resolves declared files; each path is checked whether or not its content is there.
func (r *renderer) files(in map[string]v1alpha1.FileSource, field string, check func(string) error) (map[string][]byte, error) {
	out := make(map[string][]byte, len(in))
	for _, path := range sortedKeys(in) {
		if err := check(path); err != nil {
			return nil, err
		}
		source := in[path]
		ref, byRef := sourceRef(source.From, fileField(field, path))
		switch {
		case source.Content != nil:
			out[path] = []byte(*source.Content)
		case byRef:
			if v, ok := r.value(ref); ok {
				out[path] = bytes.Clone(v)
			}
		}
	}
	return out, nil
}
