package manifests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Document is one object as declared, or the reason why it is none.
type Document struct {
	// File is the path as given, "-" for standard input.
	File string
	// Index counts the documents of a file from 1; Line is where the document begins.
	Index, Line int
	// Object is nil when Err is not.
	Object *unstructured.Unstructured
	// Err says what is wrong with the document, without its position.
	Err error
}

// Position is where a document stands, for messages: file:line, with the document's number when the file
// has several.
func (d Document) Position() string {
	if d.Index == 0 {
		return d.File
	}
	return fmt.Sprintf("%s:%d (document %d)", d.File, d.Line, d.Index)
}

// maxManifest bounds one file. The API server takes 1.5 MiB an object.
const maxManifest = 64 << 20

// Read collects the documents of every path in order: a file, a directory (its *.yaml, *.yml and *.json,
// not hidden, recursively) or "-" for stdin. A path that cannot be read is a Document with an Err and
// Index 0, so that it does not hide the others.
func Read(paths []string, stdin io.Reader) []Document {
	var docs []Document
	for _, path := range paths {
		if path == "-" {
			raw, err := io.ReadAll(io.LimitReader(stdin, maxManifest))
			if err != nil {
				docs = append(docs, Document{File: path, Err: err})
				continue
			}
			docs = append(docs, Parse(path, raw)...)
			continue
		}
		docs = append(docs, readPath(path)...)
	}
	return docs
}

func readPath(path string) []Document {
	info, err := os.Stat(path)
	if err != nil {
		return []Document{{File: path, Err: errors.Unwrap(err)}}
	}
	if !info.IsDir() {
		return readFile(path)
	}
	files, err := Files(path)
	if err != nil {
		return []Document{{File: path, Err: err}}
	}
	if len(files) == 0 {
		return []Document{{File: path, Err: errors.New("holds no *.yaml, *.yml or *.json file")}}
	}
	var docs []Document
	for _, file := range files {
		docs = append(docs, readFile(file)...)
	}
	return docs
}

// Files lists the manifests below a directory in order. Hidden files and directories are left out: editors
// and configuration managers keep their own there. A symbolic link to a file is followed (Nix links every
// one), a link to a directory as the root is too.
func Files(dir string) ([]string, error) {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(entry.Name(), ".") && path != root
		if entry.IsDir() {
			if hidden {
				return filepath.SkipDir
			}
			return nil
		}
		if hidden || !isManifest(entry.Name()) {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files = append(files, filepath.Join(dir, rel))
		return nil
	})
	slices.Sort(files)
	return files, err
}

func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name)))
}

func readFile(path string) []Document {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return []Document{{File: path, Err: errors.Unwrap(err)}}
	case info.Size() > maxManifest:
		return []Document{{File: path, Err: fmt.Errorf("is larger than %d MiB", maxManifest>>20)}}
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return []Document{{File: path, Err: errors.Unwrap(err)}}
	}
	return Parse(path, raw)
}

// Parse splits a manifest into its documents. A List is taken apart. Empty documents are left out.
func Parse(file string, raw []byte) []Document {
	var docs []Document
	for i, part := range split(raw) {
		d := Document{File: file, Index: i + 1, Line: part.line}
		objects, err := decode(part.text)
		if err != nil {
			d.Err = inFile(err, part.start)
			docs = append(docs, d)
			continue
		}
		for _, object := range objects {
			d.Object, d.Err = object, check(object)
			if d.Err != nil {
				d.Object = nil
			}
			docs = append(docs, d)
		}
	}
	return docs
}

// part is one document's text. It starts at line start of the file, and its first content is at line.
type part struct {
	start, line int
	text        []byte
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// inFile counts the line of a parser's error from the start of the file instead of the document's.
func inFile(err error, start int) error {
	found := yamlLine.FindStringSubmatch(err.Error())
	if found == nil {
		return err
	}
	line, convErr := strconv.Atoi(found[1])
	if convErr != nil {
		return err
	}
	return fmt.Errorf("line %d: %s", start+line-1, strings.TrimPrefix(err.Error(), found[0]))
}

// split cuts at the YAML document separator, a line that begins with "---", and leaves out documents that
// hold nothing but comments and space. Several JSON values in one file are cut as well.
func split(raw []byte) []part {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && trimmed[0] == '{' {
		return splitJSON(raw)
	}
	var parts []part
	current := part{start: 1, line: 1}
	flush := func() {
		if hasContent(current.text) {
			parts = append(parts, current)
		}
	}
	line := 0
	reader := bufio.NewReader(bytes.NewReader(raw))
	for {
		text, err := reader.ReadBytes('\n')
		line++
		if isSeparator(text) {
			flush()
			current = part{start: line + 1, line: line + 1}
			if rest := bytes.TrimSpace(bytes.TrimPrefix(text, []byte("---"))); len(rest) > 0 && rest[0] != '#' {
				current = part{start: line, line: line, text: append(rest, '\n')}
			}
		} else {
			if !hasContent(current.text) && hasContent(text) {
				current.line = line
			}
			current.text = append(current.text, text...)
		}
		if err != nil {
			flush()
			return parts
		}
	}
}

// isSeparator knows the end of a document: three dashes and then space or nothing. Four dashes are text.
func isSeparator(line []byte) bool {
	rest, found := bytes.CutPrefix(line, []byte("---"))
	return found && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

func splitJSON(raw []byte) []part {
	var parts []part
	for start := 0; start < len(raw); {
		rest := raw[start:]
		skip := len(rest) - len(bytes.TrimLeft(rest, " \t\r\n"))
		start += skip
		if rest = rest[skip:]; len(rest) == 0 {
			break
		}
		line := 1 + bytes.Count(raw[:start], []byte("\n"))
		n := jsonValue(rest)
		parts = append(parts, part{start: line, line: line, text: rest[:n]})
		start += n
	}
	return parts
}

func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("...")) && line[0] != '%' {
			return true
		}
	}
	return false
}

func decode(text []byte) ([]*unstructured.Unstructured, error) {
	// Strict: a key given twice is a mistake that must not be decided by order.
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		text := strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " ")
		return nil, errors.New(strings.TrimPrefix(text, "unmarshal errors: "))
	}
	var content map[string]any
	if err := utilyaml.Unmarshal(asJSON, &content); err != nil {
		return nil, errors.New("is not an object: it must have apiVersion, kind and metadata")
	}
	object := &unstructured.Unstructured{Object: content}
	if !object.IsList() {
		return []*unstructured.Unstructured{object}, nil
	}
	list, err := object.ToList()
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for i := range list.Items {
		objects = append(objects, &list.Items[i])
	}
	return objects, nil
}

func check(o *unstructured.Unstructured) error {
	switch {
	case o.GetAPIVersion() == "":
		return errors.New("has no apiVersion, for example apiVersion: hermes.dev/v1alpha1")
	case o.GetKind() == "":
		return errors.New("has no kind, for example kind: Profile")
	case o.GetName() == "":
		return errors.New("has no metadata.name")
	}
	return nil
}
