package hardware

import (
	"errors"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// ErrInvalid is wrapped by every error in a description.
var ErrInvalid = errors.New("lab host")

// Validate returns all errors in the description of a cluster. Each wraps ErrInvalid.
func Validate(hosts []Host) error {
	var problems []error

	add := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...))
	}

	if len(hosts) == 0 {
		add("there is none: name at least one")
	}

	shared := map[string]Storage{}

	for i, h := range hosts {
		if schema.CheckFormat("pve-node", h.Name) != nil {
			add("%q is no name for one: use letters, digits and dashes", h.Name)
		}

		if slices.ContainsFunc(hosts[:i], func(other Host) bool { return other.Name == h.Name }) {
			add("%s stands twice", h.Name)
		}

		if h.Cores < 1 || h.MemoryMiB < 1 {
			add("%s needs at least one core and one MiB of memory", h.Name)
		}

		for _, s := range h.Storages {
			h.validateStorage(s, shared, add)
		}
	}

	return errors.Join(problems...)
}

func (h Host) validateStorage(s Storage, shared map[string]Storage, add func(string, ...any)) {
	if schema.CheckFormat("pve-storage-id", s.Name) != nil {
		add("%s: %q is no name for a storage", h.Name, s.Name)
	}

	if !s.Type.Known() {
		add("%s: storage %s has type %q, which is not emulated", h.Name, s.Name, s.Type)
	}

	if s.Type.FileBased() && s.Path == "" {
		add("%s: storage %s of type %s needs a path", h.Name, s.Name, s.Type)
	}

	if !s.Type.FileBased() && slices.Contains(s.Content, storage.ISO) {
		add("%s: storage %s of type %s cannot hold ISO files", h.Name, s.Name, s.Type)
	}

	other, seen := shared[s.Name]
	if seen && (other.Type != s.Type || other.Shared != s.Shared) {
		add("%s: storage %s differs from the one of that name on another host", h.Name, s.Name)
	}

	shared[s.Name] = s
}
