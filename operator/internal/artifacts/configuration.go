package artifacts

import (
	"bytes"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/machineconfig"
)

func redactConfiguration(text string) ([]byte, error) {
	clean, err := machineconfig.Hide([]byte(text), redacted)
	if err != nil {
		return nil, fmt.Errorf("%w: run up again", err)
	}
	return clean, nil
}

// keyPatches is the key of an inventory below which patches of machine configurations are listed.
const keyPatches = "patches"

var errInventory = errors.New("it is not valid YAML") // without the cause, which could quote a secret

// redactPatches returns a file of an inventory without the secrets and the comments in its patches. One without any stays as it is written.
func redactPatches(text []byte) ([]byte, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, errInventory
	}
	if !hidePatches(&file) {
		return text, nil
	}
	var clean bytes.Buffer
	encoder := yaml.NewEncoder(&clean)
	encoder.SetIndent(2)
	if err := encoder.Encode(&file); err != nil {
		return nil, errInventory
	}
	return clean.Bytes(), encoder.Close()
}

func hidePatches(node *yaml.Node) bool {
	found := false
	for i, inner := range node.Content {
		if node.Kind != yaml.MappingNode || i%2 == 0 || node.Content[i-1].Value != keyPatches {
			found = hidePatches(inner) || found
			continue
		}
		key := node.Content[i-1]
		found = found || inner.HeadComment+inner.LineComment+inner.FootComment+key.FootComment != ""
		inner.HeadComment, inner.LineComment, inner.FootComment, key.FootComment = "", "", "", "" // of the first patch, and of the last
		for _, patch := range inner.Content {
			found = machineconfig.HidePatch(patch, redacted) || found
		}
	}
	return found
}
