package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"go.yaml.in/yaml/v3"
)

// ErrManagedHome means that a Profile declares the home, so its files are edited by editing the Profile.
var ErrManagedHome = errors.New("the home is managed: change spec.config of its Profile")

// SetConfigBool sets one boolean key of a config.yaml that nobody declares and keeps everything else, comments and order
// included. The file is made when it is missing. A managed home is refused with ErrManagedHome.
func SetConfigBool(path string, value bool, key ...string) error {
	if found, err := Inspect(filepath.Dir(path)); err != nil {
		return err
	} else if found.Ownership == HomeManaged {
		return ErrManagedHome
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read config: %w", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return fmt.Errorf("config %s: %w", path, err)
	}
	if doc.Kind == 0 {
		doc = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	node := doc.Content[0]
	for _, k := range key {
		if node.Kind == yaml.ScalarNode && node.Tag == "!!null" {
			*node = yaml.Node{Kind: yaml.MappingNode, HeadComment: node.HeadComment, LineComment: node.LineComment}
		}
		if node.Kind != yaml.MappingNode {
			return fmt.Errorf("config %s: what holds %q is not a mapping: correct it", path, dotted(key))
		}
		node = member(node, k)
	}
	text := fmt.Sprint(value)
	if node.Kind == yaml.ScalarNode && node.Value == text && node.ShortTag() == "!!bool" {
		return nil
	}
	*node = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: text, LineComment: node.LineComment, HeadComment: node.HeadComment}
	out, err := yaml.Marshal(&doc)
	if err != nil {
		return fmt.Errorf("config %s: %w", path, err)
	}
	return renameio.WriteFile(path, out, 0o600, renameio.WithTempDir(filepath.Dir(path)))
}

// member is the value of a key of a mapping; a missing one is made, empty.
func member(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	value := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
	return value
}
