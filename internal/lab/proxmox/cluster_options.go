package proxmox

import (
	"net/http"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

const optionsEndpoint = "/cluster/options"

// The options that the API shows as objects and as lists; all others are shown as they are written (pve-cluster
// DataCenterConfig.pm, parse_datacenter_config).
var (
	objectOptions = []string{
		"crs", "migration", "replication", "next-id", "ha", "notify", "u2f", "webauthn", "tag-style", "user-tag-access",
	}
	listOptions = []string{"registered-tags"}
)

// clusterOptions answers GET /cluster/options. Who lacks Sys.Audit sees two options of them (pve-manager API2/Cluster.pm,
// get_options).
func (s *Server) clusterOptions(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	all := s.state.Access.Allowed(c.identity, "/", "Sys.Audit")
	shown := map[string]any{}

	if all {
		shown["mac_prefix"], shown["description"] = "BC:24:11", ""
	}

	for _, key := range sortedNames(s.state.Options) {
		if !all && key != "console" && key != "tag-style" {
			continue
		}

		value, err := s.shownOption(key, s.state.Options[key])
		if err != nil {
			return nil, err
		}

		shown[key] = value
	}

	return shown, nil
}

// shownOption is an option in the form in which the API shows it.
func (s *Server) shownOption(key, text string) (any, error) {
	switch {
	case slices.Contains(listOptions, key):
		return strings.Split(text, ";"), nil
	case !slices.Contains(objectOptions, key):
		return text, nil
	}

	method, _ := s.schema.Method(http.MethodPut, optionsEndpoint)

	fields, err := schema.ParseProperties(method.Parameters[key].Format.Fields, text)
	if err != nil {
		return nil, err
	}

	object := make(map[string]any, len(fields))
	for name, value := range fields {
		object[name] = value
	}

	if tags, ok := fields["user-allow-list"]; ok {
		object["user-allow-list"] = strings.Split(tags, ";")
	}

	return object, nil
}

// setClusterOptions answers PUT /cluster/options.
func (s *Server) setClusterOptions(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, key := range c.params.List("delete") {
		delete(s.state.Options, key)
	}

	for _, key := range c.params.Without("delete").Names() {
		s.state.Options[key] = c.params.Get(key)
	}

	s.changed()

	return nil, nil
}
