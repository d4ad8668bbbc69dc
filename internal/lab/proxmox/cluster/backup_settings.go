package cluster

import (
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// settingsOf returns the settings of a call, with property strings in their normal form, and the list of excluded paths.
func (s *Service) settingsOf(params schema.Params) (settings map[string]string, paths []string, err error) {
	settings = map[string]string{}

	if params.Has("maxfiles") && params.Has("prune-backups") {
		return nil, nil, schema.BadParam("prune-backups", "option conflicts with option 'maxfiles'")
	}

	for _, name := range params.Names() {
		switch {
		case name == "exclude-path":
			paths = slices.Clone(params.All(name))
		case name == "maxfiles": // of 8.4 (pve-manager VZDump.pm, parse_prune_backups_maxfiles)
			settings["prune-backups"] = "keep-last=" + params.Get(name)
		case slices.Contains(propertyOptions, name):
			fields := s.backupParameters()[name].Fields()

			values, err := schema.ParseProperties(fields, params.Get(name))
			if err != nil {
				return nil, nil, err
			}

			if name == "prune-backups" && !keepsSome(values) {
				values = schema.Properties{"keep-all": "1"}
			}

			settings[name] = schema.PrintProperties(fields, values)
		default:
			settings[name] = params.Get(name)
		}
	}

	return settings, paths, nil
}

// keepsSome reports whether retention options keep a number of backups (pve-storage Storage/Plugin.pm, validate_prune_backups).
func keepsSome(values schema.Properties) bool {
	for name, value := range values {
		if name != "keep-all" && strings.Trim(value, "+0") != "" {
			return true
		}
	}

	return false
}
