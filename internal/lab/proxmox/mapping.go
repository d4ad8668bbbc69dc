package proxmox

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// mapping is a resource mapping of the cluster: a name for a device that differs from host to host.
type mapping struct {
	ID          string   `json:"id"`
	Type        string   `json:"type"`
	Description string   `json:"description,omitempty"`
	Mdev        int      `json:"mdev,omitempty"`
	Migratable  int      `json:"live-migration-capable,omitempty"`
	Map         []string `json:"map"`
}

// mapDevice makes the entry that a device asks for, as the web interface would: with everything that Proxmox VE compares
// when a VM starts.
func (st *state) mapDevice(node string, d PCIDevice) {
	if d.Mapping == "" {
		return
	}

	m, ok := st.PCIMappings[d.Mapping]
	if !ok {
		m = &mapping{ID: d.Mapping, Type: "pci"}
		st.PCIMappings[d.Mapping] = m
	}

	entry := fmt.Sprintf("id=%s:%s,iommugroup=%d,node=%s,path=%s,subsystem-id=%s:%s", bareHex(d.Vendor), bareHex(d.Device),
		d.IOMMUGroup, node, d.Address, bareHex(d.SubsystemVendor), bareHex(d.SubsystemDevice))
	if !slices.Contains(m.Map, entry) {
		m.Map = append(m.Map, entry)
	}
}

// shownMapping is a mapping as the API returns it.
type shownMapping struct {
	mapping
	Digest string         `json:"digest"`
	Checks []mappingCheck `json:"checks,omitempty"`
}

type mappingCheck struct {
	Severity string `json:"severity"`
	Message  string `json:"message"`
}

// mappingHandlers serve one kind of device, "pci" or "usb" (pve-manager API2/Cluster/Mapping/PCI.pm, USB.pm).
type mappingHandlers struct{ kind string }

func (h mappingHandlers) rows() []row {
	base := "/cluster/mapping/" + h.kind

	return []row{
		{Verb: http.MethodGet, Path: base, serve: h.list},
		{Verb: http.MethodPost, Path: base, serve: h.create},
		{Verb: http.MethodGet, Path: base + "/{id}", serve: h.get},
		{Verb: http.MethodPut, Path: base + "/{id}", serve: h.update},
		{Verb: http.MethodDelete, Path: base + "/{id}", serve: h.remove},
	}
}

func (h mappingHandlers) all(s *Server) map[string]*mapping {
	if h.kind == "usb" {
		return s.state.USBMappings
	}

	return s.state.PCIMappings
}

func (h mappingHandlers) list(s *Server, c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	checked := c.params.Get("check-node")
	if checked == "localhost" {
		checked = s.hosts()[0].Name
	}

	list := []shownMapping{}

	for _, id := range sortedNames(h.all(s)) {
		err := s.state.Access.Check(c.identity, "/mapping/"+h.kind+"/"+id, true,
			"Mapping.Modify", "Mapping.Use", "Mapping.Audit")
		if err != nil {
			continue
		}

		shown := h.show(s, h.all(s)[id])
		if checked != "" {
			shown.Checks = s.checkMapping(h.all(s)[id], checked)
		}

		list = append(list, shown)
	}

	return list, nil
}

func (h mappingHandlers) show(s *Server, m *mapping) shownMapping {
	var text strings.Builder
	for _, id := range sortedNames(h.all(s)) {
		fmt.Fprintf(&text, "%+v\n", *h.all(s)[id])
	}

	return shownMapping{mapping: *m, Digest: digest(text.String())}
}

func (h mappingHandlers) get(s *Server, c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	m, ok := h.all(s)[c.params.Get("id")]
	if !ok {
		return nil, fmt.Errorf("mapping '%s' not found", c.params.Get("id"))
	}

	shown := h.show(s, m)
	shown.ID = ""

	return shown, nil
}

func (h mappingHandlers) create(s *Server, c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	id := c.params.Get("id")
	if _, ok := h.all(s)[id]; ok {
		return nil, fmt.Errorf("create hardware mapping failed: %s ID '%s' already defined", h.kind, id)
	}

	m := &mapping{ID: id, Type: h.kind}
	m.set(c.params)
	h.all(s)[id] = m
	s.changed()

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

func (h mappingHandlers) update(s *Server, c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	id := c.params.Get("id")

	known, ok := h.all(s)[id]
	if !ok {
		return nil, fmt.Errorf("update hardware mapping failed: %s ID '%s' does not exist", h.kind, id)
	}

	m := *known
	if given := c.params.Get("digest"); given != "" && given != h.show(s, known).Digest {
		return nil, fmt.Errorf("update hardware mapping failed: %w", errModified)
	}

	for _, key := range c.params.List("delete") {
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

	m.set(c.params)
	h.all(s)[id] = &m
	s.changed()

	return nil, nil
}

func (h mappingHandlers) remove(s *Server, c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	delete(h.all(s), c.params.Get("id"))
	s.changed()

	return nil, nil
}

// mapFields are the fields of one entry of a mapping.
func (s *Server) mapFields(kind string) map[string]*schema.Property {
	method, ok := s.schema.Method(http.MethodPost, "/cluster/mapping/"+kind)
	if !ok {
		return nil
	}

	return method.Parameters["map"].Items.Fields()
}

// entriesOn are the entries of a mapping that are about a node.
func (s *Server) entriesOn(m *mapping, node string) []schema.Properties {
	var entries []schema.Properties

	for _, text := range m.Map {
		if entry, err := schema.ParseProperties(s.mapFields(m.Type), text); err == nil && entry["node"] == node {
			entries = append(entries, entry)
		}
	}

	return entries
}

// checkMapping reports what is wrong with a mapping on a node.
func (s *Server) checkMapping(m *mapping, node string) []mappingCheck {
	checks := []mappingCheck{}
	entries := s.entriesOn(m, node)

	if len(entries) == 0 {
		return append(checks, mappingCheck{Severity: "warning", Message: fmt.Sprintf("No mapping for node %s.", node)})
	}

	for _, entry := range entries {
		if err := s.validMapping(m, entry, node); m.Type == "pci" && err != nil {
			checks = append(checks, mappingCheck{
				Severity: "error", Message: fmt.Sprintf("Invalid configuration: %s\n", err),
			})
		}
	}

	return checks
}
