package home

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// leaf is one declared key of config.yaml. Its value is never a non-empty map.
type leaf struct {
	path  []string
	value any
}

// leaves lists the declared keys in sorted order.
func leaves(m map[string]any, prefix []string) []leaf {
	var out []leaf
	for _, key := range sortedKeys(m) {
		path := append(prefix[:len(prefix):len(prefix)], key)
		if child, ok := m[key].(map[string]any); ok && len(child) > 0 {
			out = append(out, leaves(child, path)...)
			continue
		}
		out = append(out, leaf{path: path, value: m[key]})
	}
	return out
}

// mergeConfig sets the declared keys in the YAML text and removes the keys of drop that are no longer declared.
// All other keys stay, with their comments. It returns the text as it is when nothing has to change. A removed key
// is not given an older value back. Implements N-21 and the answer to NQ-5.
func mergeConfig(onDisk []byte, declared map[string]any, drop [][]string) ([]byte, error) {
	if !utf8.Valid(onDisk) {
		return nil, errors.New("the file is not UTF-8 text")
	}
	doc, err := parseConfig(onDisk)
	if err != nil {
		return nil, err
	}
	want := leaves(declared, nil)
	var root *yaml.Node
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 {
		root = doc.Content[0]
	}
	if root == nil { // nothing but comments: they stay above
		return appendConfig(onDisk, declared)
	}
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		*root = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", HeadComment: root.HeadComment, FootComment: root.FootComment}
	}
	if root.Kind != yaml.MappingNode {
		return nil, errors.New("the document is not a mapping of keys")
	}
	changed := false
	for _, path := range drop {
		if !slices.ContainsFunc(want, func(l leaf) bool { return slices.Equal(l.path, path) }) {
			changed = dropPath(root, path) || changed
		}
	}
	for _, l := range want {
		set, err := setPath(root, l.path, l.value)
		if err != nil {
			return nil, err
		}
		changed = changed || set
	}
	if !changed {
		return onDisk, nil
	}
	out, err := encodeYAML(doc)
	if err != nil {
		return nil, err
	}
	return out, checkMerged(onDisk, out, want, drop)
}

func appendConfig(onDisk []byte, declared map[string]any) ([]byte, error) {
	if len(declared) == 0 {
		return onDisk, nil
	}
	text, err := encodeYAML(declared)
	if err != nil {
		return nil, err
	}
	if len(onDisk) > 0 && !bytes.HasSuffix(onDisk, []byte("\n")) {
		onDisk = append(bytes.Clone(onDisk), '\n')
	}
	out := append(bytes.Clone(onDisk), text...)
	if _, err := parseConfig(out); err != nil { // such as after an end-of-document mark
		return nil, err
	}
	return out, checkMerged(onDisk, out, leaves(declared, nil), nil)
}

func encodeYAML(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), enc.Close()
}

// parseConfig reads one YAML document as nodes, and refuses what a reader would refuse (duplicate keys) or what
// writing would lose (a second document).
func parseConfig(data []byte) (*yaml.Node, error) {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var second yaml.Node
	if err := dec.Decode(&second); err == nil {
		return nil, errors.New("the file holds more than one document")
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	if doc.Kind != 0 {
		var v any
		if err := doc.Decode(&v); err != nil {
			return nil, err
		}
	}
	return &doc, nil
}

// checkMerged proves that the text to be written holds the declared values and every other key unchanged, so that
// a fault of the YAML printer cannot cost a person their settings.
func checkMerged(before, after []byte, want []leaf, drop [][]string) error {
	a, err := decodeYAML(before)
	if err != nil {
		return err
	}
	b, err := decodeYAML(after)
	if err != nil {
		return fmt.Errorf("the merged text does not parse: %w", err)
	}
	for _, l := range want {
		if v, ok := lookup(b, l.path...); !ok || !holds(v, l.value) {
			return fmt.Errorf("key %q cannot be set", dotted(l.path))
		}
		strip(a, l.path)
		strip(b, l.path)
	}
	for _, path := range drop {
		strip(a, path)
		strip(b, path)
	}
	if !sameValue(a, b) {
		return errors.New("a key that is not declared would change")
	}
	return nil
}

// strip takes a path out of decoded YAML, with whatever stands in its way and the mappings it leaves empty.
func strip(m map[string]any, path []string) {
	if child, ok := m[path[0]].(map[string]any); ok && len(path) > 1 {
		strip(child, path[1:])
		if len(child) > 0 {
			return
		}
	}
	delete(m, path[0])
}

func keyIndex(m *yaml.Node, key string) int {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if k := m.Content[i]; k.Kind == yaml.ScalarNode && k.Value == key && k.Tag != "!!merge" {
			return i
		}
	}
	return -1
}

func setPath(m *yaml.Node, path []string, value any) (bool, error) {
	key, last := path[0], len(path) == 1
	i := keyIndex(m, key)
	if i < 0 {
		node, err := valueNode(path[1:], value)
		if err != nil {
			return false, err
		}
		var name yaml.Node
		if err := name.Encode(key); err != nil {
			return false, err
		}
		if len(m.Content) == 0 {
			m.Style &^= yaml.FlowStyle // "{}" grows into a block
		}
		m.Content = append(m.Content, &name, node)
		return true, nil
	}
	current := m.Content[i+1]
	if last {
		var have any
		if err := current.Decode(&have); err == nil && holds(stringKeys(have), value) {
			return false, nil
		}
	} else {
		if current.Kind == yaml.AliasNode { // the anchor's other users keep theirs
			current = copyNode(current.Alias)
			m.Content[i+1] = current
		}
		if current.Kind == yaml.MappingNode {
			return setPath(current, path[1:], value)
		}
	}
	node, err := valueNode(path[1:], value)
	if err != nil {
		return false, err
	}
	node.HeadComment, node.LineComment, node.FootComment = current.HeadComment, current.LineComment, current.FootComment
	if node.Kind != yaml.ScalarNode {
		node.LineComment = "" // the printer would put it inside the value
	}
	if current.Anchor != "" {
		node.Anchor = current.Anchor
		if isAliased(m, current) {
			return false, fmt.Errorf("key %q is an anchor that other keys use: write the other keys out", dotted(path))
		}
	}
	m.Content[i+1] = node
	return true, nil
}

// isAliased reports an alias of target below n; aliases elsewhere are caught by checkMerged.
func isAliased(n, target *yaml.Node) bool {
	return slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return c.Alias == target || isAliased(c, target) })
}

func valueNode(path []string, value any) (*yaml.Node, error) {
	for _, key := range slices.Backward(path) {
		value = map[string]any{key: value}
	}
	var n yaml.Node
	return &n, n.Encode(value)
}

func copyNode(n *yaml.Node) *yaml.Node {
	c := *n
	c.Anchor = ""
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		c.Content[i] = copyNode(child)
	}
	return &c
}

// dropPath removes a key that was declared before, and the mappings it leaves empty. A mapping in its place is
// somebody else's, because a declared key never holds one.
func dropPath(m *yaml.Node, path []string) bool {
	i := keyIndex(m, path[0])
	if i < 0 {
		return false
	}
	current := m.Content[i+1]
	if len(path) > 1 {
		if current.Kind != yaml.MappingNode || !dropPath(current, path[1:]) {
			return false
		}
		if len(current.Content) > 0 {
			return true
		}
	} else if current.Kind == yaml.MappingNode && len(current.Content) > 0 {
		return false
	}
	m.Content = slices.Delete(m.Content, i, i+2)
	return true
}

// holds says whether a declared leaf is there already. An empty mapping is declared by any mapping: what is in it
// is somebody else's.
func holds(have, declared any) bool {
	if m, ok := declared.(map[string]any); ok && len(m) == 0 {
		_, ok := have.(map[string]any)
		return ok
	}
	return sameValue(have, declared)
}

func sameValue(a, b any) bool {
	return fmt.Sprintf("%#v", canonical(a)) == fmt.Sprintf("%#v", canonical(b))
}

// canonical gives YAML and JSON decoded values one form.
func canonical(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case uint64:
		if v <= 1<<63-1 {
			return int64(v)
		}
	case float64:
		if i := int64(v); v == float64(i) && i > -1<<53 && i < 1<<53 {
			return i // YAML prints 1.0 as 1
		}
	case time.Time:
		return v.UTC()
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = canonical(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = canonical(e)
		}
		return out
	}
	return v
}

// decodeYAML reads a document whose top is a mapping, or nothing.
func decodeYAML(data []byte) (map[string]any, error) {
	var v any
	if err := yaml.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	switch v := stringKeys(v).(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return v, nil
	default:
		return nil, errors.New("the document is not a mapping of keys")
	}
}

// stringKeys makes the keys of all mappings texts: people write chat ids as keys, and YAML reads those as numbers.
func stringKeys(v any) any {
	switch v := v.(type) {
	case map[any]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[fmt.Sprint(k)] = stringKeys(e)
		}
		return out
	case map[string]any:
		for k, e := range v {
			v[k] = stringKeys(e)
		}
	case []any:
		for i, e := range v {
			v[i] = stringKeys(e)
		}
	}
	return v
}
