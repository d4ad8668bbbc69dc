package lxc

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// container is the content of a container's configuration file.
type container struct {
	ID     int              `json:"id"`
	Node   string           `json:"node"`
	Config *vmconfig.Config `json:"config"`
	// Snapshots are the former configurations that the file keeps, by name.
	Snapshots map[string]*snapshot `json:"snapshots,omitempty"`
}

// snapshot is a former state of a container.
type snapshot struct {
	Config      *vmconfig.Config `json:"config"`
	Description string           `json:"description,omitempty"`
	// Taken is in seconds since 1970.
	Taken int64 `json:"taken"`
}

// checkLock returns an error for a locked configuration (pve-guest-common AbstractConfig.pm, check_lock).
func (c *container) checkLock() error {
	if lock := c.Config.Lock(); lock != "" {
		return fmt.Errorf("CT is locked (%s)", lock)
	}

	return nil
}

// checkProtection returns an error for a protected container.
func (c *container) checkProtection(problem string) error {
	if c.Config.Flag("protection") {
		return fmt.Errorf("%s - protection mode enabled", problem)
	}

	return nil
}

// checkDigest returns an error if the file has changed since the caller read it.
func (c *container) checkDigest(digest string) error {
	if digest != "" && digest != c.Config.Digest() {
		return errors.New("checksum mismatch (file change by other user?)")
	}

	return nil
}

var (
	mountKey  = regexp.MustCompile(`^(?:rootfs|mp\d+)$`)
	unusedKey = regexp.MustCompile(`^unused\d+$`)
	deviceKey = regexp.MustCompile(`^dev\d+$`)
)

// volumes returns the settings with a volume, in the order of Proxmox VE: the root first.
func volumes(values map[string]string, unused bool) []string {
	var keys []string

	for key := range values {
		if mountKey.MatchString(key) || unused && unusedKey.MatchString(key) {
			keys = append(keys, key)
		}
	}

	slices.SortFunc(keys, func(a, b string) int {
		if (a == "rootfs") != (b == "rootfs") {
			if a == "rootfs" {
				return -1
			}

			return 1
		}

		return strings.Compare(a, b)
	})

	return keys
}

// fields returns the property string's fields of a setting.
func (s *Service) fields(key string) map[string]*schema.Property {
	method, ok := s.env.Schema.Method(http.MethodPost, basePath)
	if !ok {
		return nil
	}

	p, ok := schema.Lookup(method.Parameters, key)
	if !ok {
		return nil
	}

	return p.Fields()
}

// parse parses a property string. Its error names the parameter.
func (s *Service) parse(key, text string) (schema.Properties, error) {
	values, err := schema.ParseProperties(s.fields(key), text)
	if err != nil {
		return nil, schema.BadParam(key, "invalid format - %s", err)
	}

	return values, nil
}

func (s *Service) print(key string, values schema.Properties) string {
	return schema.PrintProperties(s.fields(key), values)
}

// volumeOf returns the volume of a mount point.
func (s *Service) volumeOf(key, text string) string {
	if unusedKey.MatchString(key) {
		return text
	}

	values, err := schema.ParseProperties(s.fields(key), text)
	if err != nil {
		return ""
	}

	return values["volume"]
}

// isSetting reports whether a configuration may contain the key (LXC/Config.pm, option_exists).
func (s *Service) isSetting(key string) bool {
	method, ok := s.env.Schema.Method(http.MethodPut, onePath+"/config")
	if !ok {
		return false
	}

	_, known := schema.Lookup(method.Parameters, key)

	return known && !slices.Contains([]string{"node", "vmid", "delete", "revert", "digest"}, key)
}

// getConfig handles GET …/config: with or without pending changes, or that of a snapshot.
func (s *Service) getConfig(c *api.Call) (any, error) {
	name, current := c.Params.Get("snapshot"), c.Params.Bool("current", false)
	if name != "" && current {
		const both = "cannot use 'snapshot' parameter with 'current'"
		return nil, &schema.ParamError{Errors: map[string]string{"snapshot": both, "current": both}}
	}

	var shown map[string]string

	err := s.on(c.Node, c.VMID, func(ct *container) error {
		config := ct.Config.WithPending()

		switch taken := ct.Snapshots[name]; {
		case name != "" && taken == nil:
			return fmt.Errorf("snapshot '%s' does not exist", name)
		case name != "":
			config = taken.Config
		case current:
			config = ct.Config
		}

		shown = config.Shown()
		shown["digest"] = ct.Config.Digest()

		// Each line of the file's comment ends with a line feed, the last one, too (LXC/Config.pm, parse_pct_config).
		if text := shown["description"]; text != "" {
			shown["description"] = text + "\n"
		}

		return nil
	})
	if err != nil {
		return nil, err
	}

	method, _ := s.env.Schema.Method(http.MethodGet, onePath+"/config")

	return schema.Typed{Values: shown, Declared: method.Returns.Properties}, nil
}
