package nodeops

import (
	"encoding/base64"

	"go.yaml.in/yaml/v3"
)

// base64Text is the decoded form of a base64 value in a YAML file.
type base64Text []byte

func (t *base64Text) UnmarshalYAML(node *yaml.Node) (err error) {
	*t, err = base64.StdEncoding.DecodeString(node.Value)
	return err
}
