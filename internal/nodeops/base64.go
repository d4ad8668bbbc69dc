package nodeops

import (
	"encoding/base64"

	"go.yaml.in/yaml/v3"
)

// base64Text is text that a YAML file holds in base64.
type base64Text []byte

// UnmarshalYAML decodes it.
func (t *base64Text) UnmarshalYAML(node *yaml.Node) (err error) {
	*t, err = base64.StdEncoding.DecodeString(node.Value)
	return err
}
