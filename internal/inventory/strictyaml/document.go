package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxBytes is the size of the largest document that is read.
const MaxBytes = 1 << 20

// Document is one parsed YAML document. Its zero value has no content.
type Document struct {
	root *yaml.Node
}

// Parse reads the one document of a file. If it returns a finding, there is no document.
func Parse(data []byte) (*Document, *Finding) {
	if len(data) > MaxBytes {
		return nil, &Finding{Fault: Fault{
			What: "is too large", Rule: fmt.Sprintf("at most %d bytes", MaxBytes),
			Do: "remove what does not belong here",
		}}
	}
	if at := invalidUTF8(data); at >= 0 {
		return nil, &Finding{Line: 1 + bytes.Count(data[:at], []byte("\n")), Fault: Fault{
			What: "is not UTF-8", Got: fmt.Sprintf("0x%x", data[at]), Do: "save the file as UTF-8",
		}}
	}
	first, finding := onlyDocument(data)
	if finding != nil {
		return nil, finding
	}
	root := first.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, &Finding{Line: root.Line, Column: root.Column, Fault: mistyped(root, yaml.MappingNode)}
	}
	return &Document{root: root}, nil
}

// onlyDocument parses a file with one document.
func onlyDocument(data []byte) (*yaml.Node, *Finding) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	err := decoder.Decode(&first)
	switch {
	case errors.Is(err, io.EOF):
		return nil, &Finding{Line: 1, Fault: Fault{What: "is empty", Do: "begin with apiVersion and kind"}}
	case err != nil:
		return nil, syntaxFinding(err)
	}
	err = decoder.Decode(&second)
	switch {
	case errors.Is(err, io.EOF):
		return &first, nil
	case err != nil:
		return nil, syntaxFinding(err)
	}
	return nil, &Finding{Line: second.Line, Column: second.Column, Fault: Fault{
		What: "holds a second document",
		Rule: "one document for each file", Do: "remove the --- and what follows it",
	}}
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(data []byte) int {
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// yamlError is the form of the YAML library's errors: only the text contains the line.
var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

func syntaxFinding(err error) *Finding {
	finding := &Finding{Fault: Fault{What: "is not YAML", Rule: err.Error(), Do: "mend the syntax"}}
	if parts := yamlError.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " ")); parts != nil {
		finding.Rule = parts[2]
		if line, err := strconv.Atoi(parts[1]); err == nil {
			finding.Line, finding.Do = line, "mend the syntax near this line"
		}
	}
	return finding
}

// Has reports whether the document itself contains a value at the path.
func (d *Document) Has(path *Path) bool {
	_, _, whole := d.walk(path)
	return whole
}

// Position returns the position of the value at the path, or of its key if the value begins on a later line. For a value that
// is not in the document it is the position of the innermost existing value around it.
func (d *Document) Position(path *Path) (line, column int) {
	found, value, whole := d.walk(path)
	switch {
	case found == nil:
		return 1, 1
	case whole && value.Line == found.Line:
		return value.Line, value.Column
	default:
		return found.Line, found.Column
	}
}

// Len returns the number of items in the list, or of keys in the mapping, in the document at the path.
func (d *Document) Len(path *Path) int {
	_, node, whole := d.walk(path)
	switch {
	case !whole:
		return 0
	case node.Kind == yaml.MappingNode:
		return len(node.Content) / 2
	default:
		return len(node.Content)
	}
}

// walk follows a path as far as the document contains it. It returns the node of the last step and its value.
func (d *Document) walk(path *Path) (found, value *yaml.Node, whole bool) {
	if d == nil || d.root == nil {
		return nil, nil, false
	}
	found, value = d.root, d.root
	for _, step := range path.steps() {
		switch {
		case step.index < 0 && value.Kind == yaml.MappingNode:
			at := keyIndex(value, step.key)
			if at < 0 {
				return found, value, false
			}
			found, value = value.Content[at], resolved(value.Content[at+1])
		case step.index >= 0 && value.Kind == yaml.SequenceNode && step.index < len(value.Content):
			found, value = value.Content[step.index], resolved(value.Content[step.index])
		default:
			return found, value, false
		}
	}
	return found, value, true
}

// keyIndex returns the index of a key in a mapping's content, or -1.
func keyIndex(mapping *yaml.Node, key string) int {
	for at := 0; at+1 < len(mapping.Content); at += 2 {
		if mapping.Content[at].Value == key {
			return at
		}
	}
	return -1
}

// resolved returns the node that an alias refers to.
func resolved(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// Text returns the scalar in the document under a key.
func (d *Document) Text(key string) (text string, given bool) {
	at := keyIndex(d.root, key)
	if at < 0 || resolved(d.root.Content[at+1]).Kind != yaml.ScalarNode {
		return "", false
	}
	return resolved(d.root.Content[at+1]).Value, true
}
