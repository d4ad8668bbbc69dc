package strictyaml

import (
	"regexp"
	"strconv"
	"strings"
)

// Path names a value inside a document, as nodes[1].address. The nil Path is the document itself.
type Path struct {
	parent *Path
	key    string
	index  int // of an item in a list, -1 for the value of a key
}

// plainKey matches keys without a path's own dots and brackets.
var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// Key returns the path of the value that p's mapping has under the key.
func (p *Path) Key(key string) *Path { return &Path{parent: p, key: key, index: -1} }

// Index returns the path of an item of p's list, counted from 0.
func (p *Path) Index(index int) *Path { return &Path{parent: p, index: index} }

// String returns the path in readable form; keys with other characters than letters, digits, - and _ are quoted.
func (p *Path) String() string {
	var text strings.Builder
	for _, step := range p.steps() {
		switch {
		case step.index >= 0:
			text.WriteString("[" + strconv.Itoa(step.index) + "]")
		case !plainKey.MatchString(step.key):
			text.WriteString("[" + strconv.Quote(step.key) + "]")
		default:
			if text.Len() > 0 {
				text.WriteByte('.')
			}
			text.WriteString(step.key)
		}
	}
	return text.String()
}

// steps returns the path's elements, from the document inwards.
func (p *Path) steps() []*Path {
	var depth int
	for step := p; step != nil; step = step.parent {
		depth++
	}
	steps := make([]*Path, depth)
	for step := p; step != nil; step = step.parent {
		depth--
		steps[depth] = step
	}
	return steps
}

// Parent returns the path of the value around p, nil for the document itself.
func (p *Path) Parent() *Path { return p.parent }
