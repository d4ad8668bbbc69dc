package api

import (
	"strings"
)

// router finds the method of a request by its path.
type router struct {
	root *branch
}

// branch is one step of the paths: its next steps are literal names or one parameter.
type branch struct {
	literal   map[string]*branch
	parameter *branch
	name      string
	methods   map[string]*Method
}

func newRouter(methods []Method) *router {
	r := &router{root: &branch{}}

	for i := range methods {
		b := r.root
		for _, step := range splitPath(methods[i].Path) {
			b = b.step(step)
		}

		if b.methods == nil {
			b.methods = map[string]*Method{}
		}

		b.methods[methods[i].Verb] = &methods[i]
	}

	return r
}

func (b *branch) step(step string) *branch {
	if name, ok := strings.CutPrefix(step, "{"); ok {
		if b.parameter == nil {
			b.parameter = &branch{name: strings.TrimSuffix(name, "}")}
		}

		return b.parameter
	}

	if b.literal == nil {
		b.literal = map[string]*branch{}
	}

	if b.literal[step] == nil {
		b.literal[step] = &branch{}
	}

	return b.literal[step]
}

// find returns the method of a path and the parameters in the path. Empty steps are ignored, so ".../qemu/101/" is the VM
// itself (pve-common RESTHandler.pm, find_handler). A volume name contains slashes, so it takes the rest of the path
// (pve-storage API2/Storage/Status.pm, fragmentDelimiter).
func (r *router) find(verb, path string) (*Method, map[string]string) {
	params := map[string]string{}
	steps := splitPath(path)
	b := r.root

	for i, step := range steps {
		next := b.literal[step]

		switch {
		case next != nil:
		case b.parameter == nil:
			return nil, nil
		default:
			next = b.parameter
			params[next.name] = step
		}

		b = next

		if b.name == "volume" {
			params[b.name] = strings.Join(steps[i:], "/")
			break
		}
	}

	return b.methods[verb], params
}

func splitPath(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}
