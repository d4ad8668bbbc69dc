// Package mapping keeps the resource mappings of the cluster: names for devices that differ between hosts (pve-manager
// API2/Cluster/Mapping/PCI.pm and USB.pm, pve-guest-common Mapping/PCI.pm).
//
// Its lock is held during permission checks, but not during other calls to other parts.
package mapping

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// mapping is a resource mapping of the cluster: a name for a device that differs between hosts.
type mapping struct {
	ID          string   `json:"id"`
	Type        string   `json:"type"`
	Description string   `json:"description,omitempty"`
	Mdev        int      `json:"mdev,omitempty"`
	Migratable  int      `json:"live-migration-capable,omitempty"`
	Map         []string `json:"map"`
}

// shownMapping is a mapping in the API.
type shownMapping struct {
	mapping
	Digest string         `json:"digest"`
	Checks []mappingCheck `json:"checks,omitempty"`
}

type mappingCheck struct {
	Severity string `json:"severity"`
	Message  string `json:"message"`
}

// Permissions checks what callers may do.
type Permissions interface {
	Check(identity, path string, anyOf bool, privileges ...string) error
}

// Service keeps the mappings of a cluster. It is safe for concurrent use.
type Service struct {
	env         *host.Environment
	permissions Permissions

	mu       sync.Mutex
	pci, usb map[string]*mapping
}

// New returns a service without mappings.
func New(env *host.Environment, permissions Permissions) *Service {
	return &Service{env: env, permissions: permissions, pci: map[string]*mapping{}, usb: map[string]*mapping{}}
}

// Methods returns the API methods of the service.
func (s *Service) Methods() []api.Method {
	return slices.Concat(handlers{s, "pci"}.methods(), handlers{s, "usb"}.methods())
}

// handlers handle one kind of device, "pci" or "usb".
type handlers struct {
	*Service
	kind string
}

func (h handlers) methods() []api.Method {
	base := "/cluster/mapping/" + h.kind

	return []api.Method{
		api.Get(base, h.list),
		api.Post(base, h.create),
		api.Get(base+"/{id}", h.get),
		api.Put(base+"/{id}", h.update),
		api.Delete(base+"/{id}", h.remove),
	}
}

// all returns the mappings of the kind. The caller holds the lock.
func (h handlers) all() map[string]*mapping {
	if h.kind == "usb" {
		return h.usb
	}

	return h.pci
}

func (h handlers) list(c *api.Call) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()

	checked := c.Params.Get("check-node")
	if checked == "localhost" {
		checked = h.env.Nodes.First()
	}

	list := []shownMapping{}

	for _, id := range slices.Sorted(maps.Keys(h.all())) {
		err := h.permissions.Check(c.Identity, "/mapping/"+h.kind+"/"+id, true,
			"Mapping.Modify", "Mapping.Use", "Mapping.Audit")
		if err != nil {
			continue
		}

		shown := h.show(h.all()[id])
		if checked != "" {
			shown.Checks = h.check(h.all()[id], checked)
		}

		list = append(list, shown)
	}

	return list, nil
}

func (h handlers) show(m *mapping) shownMapping {
	var text strings.Builder
	for _, id := range slices.Sorted(maps.Keys(h.all())) {
		fmt.Fprintf(&text, "%+v\n", *h.all()[id])
	}

	return shownMapping{mapping: *m, Digest: api.Digest(text.String())}
}

func (h handlers) get(c *api.Call) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()

	m, ok := h.all()[c.Params.Get("id")]
	if !ok {
		return nil, fmt.Errorf("mapping '%s' not found", c.Params.Get("id"))
	}

	shown := h.show(m)
	shown.ID = ""

	return shown, nil
}

func (h handlers) create(c *api.Call) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()

	id := c.Params.Get("id")
	if _, ok := h.all()[id]; ok {
		return nil, fmt.Errorf("create hardware mapping failed: %s ID '%s' already defined", h.kind, id)
	}

	m := &mapping{ID: id, Type: h.kind}
	m.set(c.Params)
	h.all()[id] = m
	h.env.Changed()

	return nil, nil
}

func (m *mapping) set(params schema.Params) {
	if params.Has("map") {
		m.Map = slices.Clone(params.All("map"))
	}

	if params.Has("description") {
		m.Description = params.Get("description")
	}

	if params.Has("mdev") {
		m.Mdev = params.Int("mdev", 0)
	}

	if params.Has("live-migration-capable") {
		m.Migratable = params.Int("live-migration-capable", 0)
	}
}

func (h handlers) update(c *api.Call) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()

	id := c.Params.Get("id")

	known, ok := h.all()[id]
	if !ok {
		return nil, fmt.Errorf("update hardware mapping failed: %s ID '%s' does not exist", h.kind, id)
	}

	m := *known
	if given := c.Params.Get("digest"); given != "" && given != h.show(known).Digest {
		return nil, fmt.Errorf("update hardware mapping failed: %w", api.ErrModified)
	}

	for _, key := range c.Params.List("delete") {
		switch key {
		case "description":
			m.Description = ""
		case "mdev":
			m.Mdev = 0
		case "live-migration-capable":
			m.Migratable = 0
		default:
			return nil, fmt.Errorf("update hardware mapping failed: no such option '%s'", key)
		}
	}

	m.set(c.Params)
	h.all()[id] = &m
	h.env.Changed()

	return nil, nil
}

func (h handlers) remove(c *api.Call) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()

	delete(h.all(), c.Params.Get("id"))
	h.env.Changed()

	return nil, nil
}

// fields returns the fields of a mapping's entry.
func (s *Service) fields(kind string) map[string]*schema.Property {
	method, ok := s.env.Schema.Method(http.MethodPost, "/cluster/mapping/"+kind)
	if !ok {
		return nil
	}

	return method.Parameters["map"].Items.Fields()
}

// entriesOn returns a mapping's entries for a node.
func (s *Service) entriesOn(m *mapping, node string) []schema.Properties {
	var entries []schema.Properties

	for _, text := range m.Map {
		if entry, err := schema.ParseProperties(s.fields(m.Type), text); err == nil && entry["node"] == node {
			entries = append(entries, entry)
		}
	}

	return entries
}

// check returns the problems of a mapping on a node.
func (s *Service) check(m *mapping, node string) []mappingCheck {
	checks := []mappingCheck{}
	entries := s.entriesOn(m, node)

	if len(entries) == 0 {
		return append(checks, mappingCheck{Severity: "warning", Message: fmt.Sprintf("No mapping for node %s.", node)})
	}

	for _, entry := range entries {
		if err := s.valid(m, entry, node); m.Type == "pci" && err != nil {
			checks = append(checks, mappingCheck{
				Severity: "error", Message: fmt.Sprintf("Invalid configuration: %s\n", err),
			})
		}
	}

	return checks
}
