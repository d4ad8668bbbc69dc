package cluster

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

const optionsEndpoint = "/cluster/options"

// The options that the API returns as objects and as lists. All others are returned as text (pve-cluster DataCenterConfig.pm,
// parse_datacenter_config).
var (
	objectOptions = []string{
		"crs", "migration", "replication", "next-id", "ha", "notify", "u2f", "webauthn", "tag-style", "user-tag-access",
	}
	listOptions = []string{"registered-tags"}
)

// clusterOptions handles GET /cluster/options. A caller without Sys.Audit gets two of the options (pve-manager
// API2/Cluster.pm, get_options).
func (s *Service) clusterOptions(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	all := s.parts.Users.Allowed(c.Identity, "/", "Sys.Audit")
	shown := map[string]any{}

	if all {
		shown["mac_prefix"], shown["description"] = "BC:24:11", ""
	}

	for _, key := range slices.Sorted(maps.Keys(s.options)) {
		if !all && key != "console" && key != "tag-style" {
			continue
		}

		value, err := s.shownOption(key, s.options[key])
		if err != nil {
			return nil, err
		}

		shown[key] = value
	}

	return shown, nil
}

// shownOption returns an option in the format of the API.
func (s *Service) shownOption(key, text string) (any, error) {
	switch {
	case slices.Contains(listOptions, key):
		return strings.Split(text, ";"), nil
	case !slices.Contains(objectOptions, key):
		return text, nil
	}

	method, _ := s.env.Schema.Method(http.MethodPut, optionsEndpoint)

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

// setClusterOptions handles PUT /cluster/options.
func (s *Service) setClusterOptions(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, key := range c.Params.List("delete") {
		delete(s.options, key)
	}

	for _, key := range c.Params.Without("delete").Names() {
		s.options[key] = c.Params.Get(key)
	}

	s.env.Changed()

	return nil, nil
}
