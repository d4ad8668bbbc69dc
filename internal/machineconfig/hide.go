package machineconfig

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"

	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"go.yaml.in/yaml/v3"
)

// ErrUnreadable is the error of a text that is no machine configuration. It wraps no cause, because the cause could quote a secret.
var ErrUnreadable = errors.New("Talos cannot read it")

// Hide returns a machine configuration in Talos' own format, without comments, and with each secret replaced.
func Hide(configuration []byte, replacement string) ([]byte, error) {
	config, err := configloader.NewFromBytes(configuration)
	if err != nil {
		return nil, ErrUnreadable
	}
	redacted, err := config.RedactSecrets(replacement).EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
	if err != nil {
		return nil, ErrUnreadable
	}
	return hideText(redacted, replacement)
}

// HidePatch replaces each secret in a patch of a configuration, which is a mapping or a text that contains one. It also deletes the patch's comments,
// because they may contain former values. It reports whether it found a secret or a comment. Text that cannot be read is replaced as a whole.
func HidePatch(patch *yaml.Node, replacement string) bool {
	commented := stripComments(patch)
	if patch.Kind != yaml.ScalarNode {
		return hide(patch, replacement) || commented
	}
	text, err := hideText([]byte(patch.Value), replacement)
	if err != nil {
		text = []byte(replacement)
	}
	found := string(text) != patch.Value
	patch.Value = string(text)
	return found || commented
}

// stripComments deletes the comments of a node and of those below it, and reports whether there were any.
func stripComments(node *yaml.Node) bool {
	found := node.HeadComment != "" || node.LineComment != "" || node.FootComment != ""
	node.HeadComment, node.LineComment, node.FootComment = "", "", ""
	for _, below := range node.Content {
		found = stripComments(below) || found
	}
	return found
}

// commented matches a text that may have a comment. If a text matches without having one, only its formatting changes.
var commented = regexp.MustCompile(`(?m)(^|\s)#`)

// Values returns the values of all documents of a configuration by their paths. The paths in a document with a kind begin with the kind
// and its name.
func Values(configuration []byte) (map[string]string, error) {
	values := map[string]string{}
	all, err := documents(configuration)
	for _, document := range all {
		eachValue(prefixOf(document), document, func(path string, value *yaml.Node) { values[path] = value.Value })
	}
	return values, err
}

// hideText replaces the secrets in a text of one or several documents, and deletes its comments. A text without either is returned unchanged.
func hideText(text []byte, replacement string) ([]byte, error) {
	all, err := documents(text)
	if err != nil {
		return nil, err
	}
	var written bytes.Buffer
	writer := yaml.NewEncoder(&written)
	found := commented.Match(text)
	for _, document := range all {
		stripComments(document)
		found = hide(document, replacement) || found
		if err := writer.Encode(document); err != nil {
			return nil, ErrUnreadable
		}
	}
	if !found {
		return text, nil
	}
	return written.Bytes(), writer.Close()
}

func hide(document *yaml.Node, replacement string) bool {
	found := false
	eachValue(prefixOf(document), document, func(path string, value *yaml.Node) {
		if value.Tag != "!!null" && IsSecret(path, value.Value) {
			value.Value, value.Tag, value.Style, found = replacement, "!!str", 0, true
		}
	})
	return found
}

// documents returns the documents in a text, without those that are empty.
func documents(text []byte) ([]*yaml.Node, error) {
	var all []*yaml.Node
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, ErrUnreadable
		case len(document.Content) > 0:
			all = append(all, document.Content[0])
		}
	}
}

func prefixOf(document *yaml.Node) string {
	var is struct{ Kind, Name string }
	if err := document.Decode(&is); err != nil || is.Kind == "" {
		return ""
	}
	if is.Name != "" {
		return is.Kind + "/" + is.Name
	}
	return is.Kind
}

// eachValue visits the values below a node, each with its path. A scalar that an alias refers to is visited under both paths.
func eachValue(path string, node *yaml.Node, visit func(path string, value *yaml.Node)) {
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			below := node.Content[i].Value
			if path != "" {
				below = path + "." + below
			}
			eachValue(below, node.Content[i+1], visit)
		}
	case yaml.SequenceNode:
		for i, item := range node.Content {
			eachValue(path+"["+strconv.Itoa(i)+"]", item, visit)
		}
	case yaml.AliasNode:
		if node.Alias.Kind == yaml.ScalarNode { // any other could contain itself
			visit(path, node.Alias)
		}
	default:
		visit(path, node)
	}
}
